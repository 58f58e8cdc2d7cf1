/**
 * Preloaded into the conformance suite: waits that end in an abort are ten times as long. The suite gives some calls half a second, in which
 * a busy machine cannot start a child; an answer that comes is judged as before.
 */
const TIMES = 10
const SHORT_MS = 1_000

const { setTimeout: start } = globalThis
globalThis.setTimeout = Object.assign(
  (callback, delay, ...rest) =>
    start(callback, isImpatient(callback, delay) ? delay * TIMES : delay, ...rest),
  start,
)

function isImpatient(callback, delay) {
  return delay <= SHORT_MS && /\.abort\(/.test(String(callback))
}
