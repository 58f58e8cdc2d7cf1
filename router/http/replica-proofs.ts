/**
 * Checks that an address is still that of a replica before a request of a client is sent to it: once a replica has ended, any pod may get its address.
 * Signed ids name the replicas of up to 30 days ago.
 */
import { randomBytes } from 'node:crypto'
import type { Dispatcher } from 'undici'
import type { Clock } from '../../core/async.ts'
import { readBounded } from '../../core/bounded.ts'
import { BoundedMap } from '../../core/bounded-map.ts'
import { deadline } from '../../core/deadline.ts'
import { Fault } from '../../core/errors.ts'
import type { InternalCredentials } from '../access/internal-credential.ts'
import type { App } from './app.ts'

export type ReplicaProofs = {
  /** Rejects if what is at this origin does not prove that it is a replica with our key and this origin. */
  check(origin: string): Promise<void>
}

const PATH = '/replica'
const CHALLENGE = /^[\w-]{32}$/
const CHALLENGE_BYTES = 24
const MAX_PROOF_BYTES = 256
/** How long a proof is valid: shorter than the time in which an address gets another owner. */
const VALID_MS = 1_000
const TIMEOUT_MS = 2_000
const MAX_PROVEN = 100

type Proven = { untilMs: number; done: Promise<void> }

export function createReplicaProofs(
  agent: Dispatcher,
  { prove }: Pick<InternalCredentials, 'prove'>,
  clock: Clock,
): ReplicaProofs {
  const proven = new BoundedMap<Proven>(MAX_PROVEN)

  async function ask(origin: string): Promise<void> {
    const challenge = randomBytes(CHALLENGE_BYTES).toString('base64url')
    const limit = deadline(clock, TIMEOUT_MS, 'the replica does not answer in time')
    const { signal } = limit
    try {
      const { body } = await agent.request({ origin, path: `${PATH}/${challenge}`, method: 'GET', signal })
      const proof = await readBounded(body, MAX_PROOF_BYTES, wrongProof)
      // The challenge is random, so that nothing can be learnt from the time that this comparison takes.
      if (proof.toString() !== prove(origin, challenge)) throw wrongProof()
    } finally {
      limit.clear()
    }
  }

  /** Once, after a timeout: if this process got no CPU time, a timer fires before an answer that has arrived is read. */
  const askAgain = (origin: string) => (error: unknown) => {
    if (!(error instanceof Fault)) throw error
    return ask(origin)
  }

  return {
    check(origin) {
      const known = proven.get(origin)
      if (known && known.untilMs > clock.elapsed()) return known.done
      const asked: Proven = { untilMs: Number.POSITIVE_INFINITY, done: ask(origin).catch(askAgain(origin)) }
      proven.set(origin, asked)
      const end = (validMs: number) => () => {
        asked.untilMs = clock.elapsed() + validMs
      }
      asked.done.then(end(VALID_MS), end(0))
      return asked.done
    },
  }
}

/** Answers the challenges of other replicas. `origin`: the one that they know this replica by. */
export function addProofPage(
  { fastify, draining }: App,
  origin: string,
  { prove }: Pick<InternalCredentials, 'prove'>,
): void {
  fastify.get<{ Params: { challenge: string } }>(`${PATH}/:challenge`, ({ params }, reply) => {
    if (draining.aborted) reply.raw.shouldKeepAlive = false
    if (!CHALLENGE.test(params.challenge)) return reply.code(404).send()
    return reply.header('cache-control', 'no-store').type('text/plain').send(prove(origin, params.challenge))
  })
}

export class WrongProof extends Error {}

function wrongProof(): Error {
  return new WrongProof('the address of the replica belongs to another program')
}
