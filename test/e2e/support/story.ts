/** What every file of stories is given: the running Portolan, once there is one, and whether it runs at all. Types only. */
import type { Portolan } from './portolan.ts'

export type Stories = (running: () => Portolan, options: { skip: string | false }) => void
