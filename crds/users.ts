/** The field `users` of an McpServer: how many users may have a session, process or pod there, and for how long. */
import * as z from 'zod'
import { duration, volumeSize } from './quantity.ts'
import { storageClassName } from './storage.ts'

/** `users` of a server with `sessions: perUser` that gives none. */
export const DEFAULT_USERS = { max: 200, idleAfter: '30m' }

/** The default of `users.volume.retainFor`. Also applies to volumes that exist after `users.volume` was removed. */
export const RETAIN_FOR = '720h'

export const users = z.strictObject({
  max: z
    .int()
    .min(1)
    .max(1_000)
    .default(DEFAULT_USERS.max)
    .describe(
      'Maximum number of users at once, at each router; with a pod for each user, at all routers together. Calls of further users are refused.',
    ),
  idleAfter: duration(DEFAULT_USERS.idleAfter)
    .default(DEFAULT_USERS.idleAfter)
    .describe(
      'Time without a call and without a subscription after which the session, process or pod of a user ends.',
    ),
  volume: z
    .strictObject({
      size: volumeSize('1Gi').describe(
        'Size of the volume of each user. A change applies only to volumes that are created afterwards.',
      ),
      storageClassName: storageClassName.describe("The StorageClass of the volumes; default: the cluster's."),
      retainFor: duration(RETAIN_FOR, 8_760)
        .default(RETAIN_FOR)
        .describe('How long the volume of a user is kept after their pod has ended; then it is deleted.'),
    })
    .optional()
    .describe(
      'A volume for the files of each user who has a pod, mounted as the home folder `/home/mcp` and kept when the pod ends. Clusters only.',
    ),
})
