/** If the reader of the log is slow, stuck or gone, lines are lost, but the process never grows, waits or ends. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { test } from 'node:test'
import { createLogLines } from './log-lines.ts'

const LINE = `${'x'.repeat(999)}\n`

/** A stream whose reader takes nothing until `readOn` is called. */
function slowReader() {
  const read: string[] = []
  let taken: (() => void) | undefined
  let open = false
  const stream = new Writable({
    decodeStrings: false,
    write(chunk: string, _encoding, done) {
      read.push(chunk)
      if (open) done()
      else taken = done
    },
  })
  const readOn = () => {
    open = true
    taken?.()
  }
  return { stream, readOn, text: () => read.join('') }
}

test('lines reach a fast reader in batches, in order, and none is lost', t => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const reader = slowReader()
  reader.readOn()
  const lines = createLogLines(reader.stream, () => 'lost\n')
  for (let at = 0; at < 10; at++) lines.write(`${at}\n`)
  assert.equal(reader.text(), '')
  t.mock.timers.tick(100)
  assert.equal(reader.text(), '0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n')
})

test('a reader that reads nothing costs at most a megabyte, and later learns how many lines it missed', () => {
  const reader = slowReader()
  const lines = createLogLines(reader.stream, count => `lost ${count}\n`)
  for (let at = 0; at < 10_000; at++) lines.write(LINE)
  assert.ok(reader.stream.writableLength <= 1 << 20, `${reader.stream.writableLength} bytes wait`)
  const kept = Math.floor((1 << 20) / LINE.length)
  reader.readOn()
  for (let at = 0; at < 20; at++) lines.write(LINE)
  assert.equal(reader.text().match(/lost \d+/g)?.[0], `lost ${10_000 - kept}`)
})

test('a reader that closes the stream causes no error', async () => {
  const stream = new Writable({ write: (_chunk, _encoding, done) => done(new Error('EPIPE')) })
  const lines = createLogLines(stream, () => '')
  for (let at = 0; at < 100; at++) lines.write(LINE)
  await new Promise(resolve => stream.on('close', resolve))
  for (let at = 0; at < 100; at++) lines.write(LINE)
})

test('a process whose standard error is never read is not blocked, and can exit', async () => {
  const module = new URL('./log.ts', import.meta.url).href
  const script = `
    import { createLog } from ${JSON.stringify(module)}
    const log = createLog()
    for (let at = 0; at < 20000; at++) log.info({ text: 'x'.repeat(200) }, 'line')
    process.stdout.write('written\\n')
    setTimeout(() => process.exit(7), 150)`
  const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', script]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const killTimer = setTimeout(() => child.kill('SIGKILL'), 20_000)
  const exited = once(child, 'exit')
  const [line] = await once(createInterface({ input: child.stdout }), 'line')
  assert.equal(line, 'written')
  assert.deepEqual(await exited, [7, null])
  clearTimeout(killTimer)
  child.stderr.destroy()
})
