/** What every file of stories gets: the running Portolan, once the tests run, and whether they are skipped. Types only. */
import type { Portolan } from './portolan.ts'

export type Stories = (running: () => Portolan, options: { skip: string | false }) => void
