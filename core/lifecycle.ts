/** The end of a process: the first signal closes in good order, a second one at once. */
import process from 'node:process'
import { type Clock, systemClock } from './async.ts'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
/** One Ctrl-C can reach us twice, by the terminal and by a wrapper that passes it on. */
const SECOND_SIGNAL_AFTER_MS = 1_000

/**
 * Runs `close` once, on the first of SIGINT, SIGTERM and SIGHUP, or when a parent that holds an IPC channel goes away;
 * then ends the process with code 0, or 1 where closing failed. A second signal more than a second later ends it with
 * 128 + its number. For a `main.ts` or `cli/`. Returns the way to take it back.
 */
export function onShutdown(close: (reason: string) => Promise<void>, clock: Clock = systemClock): () => void {
  let startedAt: number | undefined
  const begin = (reason: string) => {
    startedAt = clock.now()
    close(reason).then(
      () => process.exit(0),
      () => process.exit(1),
    )
  }
  const onSignal = (signal: string, number: number) => {
    if (startedAt === undefined) begin(signal)
    else if (clock.now() - startedAt > SECOND_SIGNAL_AFTER_MS) process.exit(128 + number)
  }
  const onDisconnect = () => {
    if (startedAt === undefined) begin('disconnect')
  }
  for (const signal of SIGNALS) process.on(signal, onSignal)
  process.on('disconnect', onDisconnect)
  return () => {
    for (const signal of SIGNALS) process.off(signal, onSignal)
    process.off('disconnect', onDisconnect)
  }
}
