/** Process shutdown: the first signal closes gracefully, a second one exits immediately. */
import process from 'node:process'
import { type Clock, systemClock } from './async.ts'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
/** One Ctrl-C can arrive twice: from the terminal, and from a wrapper that forwards it. */
const SECOND_SIGNAL_AFTER_MS = 1_000

/**
 * Runs `close` once, on the first of SIGINT, SIGTERM and SIGHUP, or when the parent's IPC channel is disconnected;
 * then exits with code 0, or 1 if closing failed. A second signal more than a second later exits immediately with
 * 128 + its number. Only for entry points (`main.ts`, `cli/`). Returns a function that removes the listeners.
 */
export function onShutdown(close: (reason: string) => Promise<void>, clock: Clock = systemClock): () => void {
  let startedAt: number | undefined
  const begin = (reason: string) => {
    startedAt = clock.elapsed()
    close(reason).then(
      () => process.exit(0),
      () => process.exit(1),
    )
  }
  const onSignal = (signal: string, number: number) => {
    if (startedAt === undefined) begin(signal)
    else if (clock.elapsed() - startedAt > SECOND_SIGNAL_AFTER_MS) process.exit(128 + number)
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
