/** A helper process that ends all watched process groups when this process ends, even if it is killed. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { Fault } from '../../../errors.ts'

export type Reaper = {
  /** Resolves once the reaper is certain to end the group with this process, even if this process is killed right then. */
  watch(group: number): Promise<void>
  /** Call it as soon as the group is empty, because the kernel may then reuse its number. */
  forget(group: number): void
  /** Ends all watched groups, and the reaper. */
  close(): Promise<void>
}

/**
 * A POSIX shell uses 1 MB, Node 40. It reads `+ GROUP` and `- GROUP` until its input ends, which happens when
 * this process ends. Then it sends TERM to all groups, waits up to 2 s, and sends KILL.
 */
const SCRIPT = `
  trap '' INT TERM HUP QUIT PIPE TSTP
  PATH=/usr/bin:/bin:/run/current-system/sw/bin
  groups=' '
  while read -r verb group; do
    case $verb in
      +) groups="$groups$group " ;;
      -) case $groups in *" $group "*) groups="\${groups%% $group *} \${groups#* $group }" ;; esac ;;
    esac
  done
  exec 2>/dev/null
  for group in $groups; do kill -s TERM -- "-$group"; done
  for round in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    left=
    for group in $groups; do kill -s 0 -- "-$group" && left=1; done
    [ "$left" ] || exit 0
    sleep 0.1
  done
  for group in $groups; do kill -s KILL -- "-$group"; done
`

/** Starts the reaper in its own session, so that Ctrl-C in a terminal does not end it. It never keeps this process alive. */
export function startReaper(): Reaper {
  const groups = new Set<number>()
  let closed = false
  let shell = start()

  function start(): ChildProcess {
    const started = spawn('/bin/sh', ['-c', SCRIPT, 'portolan-reaper'], {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
      env: {},
      cwd: '/',
    })
    started.stdin?.on('error', () => {}) // each write reports its own error
    started.on('error', () => {}) // no /bin/sh: then the writes fail
    started.once('exit', (_code, signal) => {
      if (signal !== null && !closed) restart() // it was killed
    })
    started.unref()
    if (started.stdin && 'unref' in started.stdin) (started.stdin as { unref(): void }).unref()
    return started
  }

  function restart() {
    shell = start()
    for (const group of groups) send(`+ ${group}\n`).catch(() => {})
  }

  /** Once the line is in the pipe, the reaper reads it even if this process is killed. */
  function send(line: string): Promise<void> {
    return new Promise((resolve, reject) => {
      if (!shell.stdin?.writable)
        return reject(new Fault('upstream_unreachable', 'the reaper process is not running'))
      shell.stdin.write(line, error => {
        if (error)
          reject(new Fault('upstream_unreachable', 'the reaper process does not answer', { cause: error }))
        else resolve()
      })
    })
  }

  return {
    watch(group) {
      groups.add(group)
      return send(`+ ${group}\n`)
    },
    forget(group) {
      if (groups.delete(group)) send(`- ${group}\n`).catch(() => {})
    },
    async close() {
      if (closed) return
      closed = true
      if (shell.exitCode !== null || shell.signalCode !== null || shell.pid === undefined) return
      shell.ref()
      const exited = once(shell, 'exit')
      shell.stdin?.end()
      await exited
    },
  }
}
