/** Compares a server's tools with the approved ones, decides which tools of a list are served, and reports changes. */
import type { Logger } from 'pino'
import { type HiddenText, hiddenTextIn } from '../core/catalog/hidden-text.ts'
import { pinTools } from '../core/catalog/pin.ts'
import type { ToolPolicy } from '../core/catalog/router-config.ts'
import type { ServerCatalog, ToolDefinition } from '../core/catalog/server-catalog.ts'
import { changesLine, definitionsOf, digestOfTools, type ToolChanges } from '../core/catalog/tool-changes.ts'
import { messageOf } from '../core/errors.ts'
import { canonicalJson } from '../core/json.ts'
import type { Approvals, Subject } from './approvals.ts'

export type PinnedToolsOptions = {
  subject: Subject
  /** Returns the current policy of the manifest. */
  policy: () => ToolPolicy
  /** Returns the digest that the manifest's annotation approves; empty if there is none. */
  approve: () => string
  approvals: Approvals
  log: Logger
}

/** The served version of a list. */
export type Served = {
  catalog: ServerCatalog
  /** Changes that wait for approval. */
  changes?: ToolChanges
  /** Hidden characters in texts that agents read. */
  hidden?: HiddenText
}

const UNREADABLE = 'the file of approved tools cannot be read and is not changed'

export class PinnedTools {
  readonly #options: PinnedToolsOptions
  #approved: readonly ToolDefinition[] | undefined
  #loading: Promise<void> | undefined
  /** The last result of `serve` and everything that it depends on. */
  #last:
    | {
        found: ServerCatalog
        policy: ToolPolicy
        approve: string
        approved: readonly ToolDefinition[] | undefined
        served: Served
      }
    | undefined
  /** Digest of the changes that were last reported. */
  #reported: string | undefined
  /** Digest of the tools that are stored because they differ from the approved ones, maybe by an earlier process. */
  #stored: string | undefined
  /** The hidden characters that were last reported, as JSON. */
  #reportedHidden: string | undefined
  #saving: Promise<void> = Promise.resolve()
  /** Whether the approved tools could not be read the last time: what is approved is not known then. */
  #isUnreadable = false

  constructor(options: PinnedToolsOptions) {
    this.#options = options
  }

  /** Reads the approved tools once. Must have resolved before `serve` is called. */
  load(): Promise<void> {
    const { approvals, subject } = this.#options
    this.#loading ??= approvals.load(subject).then(read => {
      this.#approved = read?.approved
      this.#isUnreadable = read?.unreadable ?? false
      this.#stored = read?.found && digestOfTools(read.found)
    })
    return this.#loading
  }

  /** Reads the approved tools again; returns whether they have changed. */
  async reload(): Promise<boolean> {
    await this.load()
    const { approvals, subject } = this.#options
    const read = await approvals.load(subject)
    // What was read before stays approved.
    if (read?.unreadable) return false
    if (read) this.#isUnreadable = false
    if (read === undefined || canonicalJson(read.approved) === canonicalJson(this.#approved)) return false
    this.#approved = read.approved
    this.#stored = read.found && digestOfTools(read.found)
    return true
  }

  /** Returns the served version of a list. The tools of a server's first list are stored as approved. */
  serve(found: ServerCatalog): Served {
    const policy = this.#options.policy()
    const approve = this.#options.approve()
    const last = this.#last
    const isSame =
      last?.found === found &&
      last.policy === policy &&
      last.approve === approve &&
      last.approved === this.#approved
    if (isSame) return last.served
    const { catalog, approved, changes } = pinTools(found, { policy, approved: this.#approved, approve })
    const hidden = last?.found === found ? last.served.hidden : hiddenTextIn(found)
    const served = { catalog, ...(changes && { changes }), ...(hidden && { hidden }) }
    this.#store(found, approved, changes, policy)
    this.#reportHidden(hidden)
    this.#last = { found, policy, approve, approved, served }
    return served
  }

  /** Stores the approved tools and, if they differ, the tools of the list, so that `portolan approve` can compare them. */
  #store(
    found: ServerCatalog,
    approved: readonly ToolDefinition[] | undefined,
    changes: ToolChanges | undefined,
    { pin }: ToolPolicy,
  ): void {
    const { subject, approvals, log } = this.#options
    const isFirst = this.#approved === undefined && approved !== undefined
    const isApproved = this.#approved !== approved
    this.#approved = approved
    if (!approved) return
    if (isFirst)
      log.info(
        { server: subject.server, tools: approved.length, digest: digestOfTools(approved) },
        'first tools approved',
      )
    if (changes && changes.digest !== this.#reported)
      log.warn(
        { server: subject.server, pin, changes: changesLine(changes), digest: changes.digest },
        'tools changed since they were approved',
      )
    this.#reported = changes?.digest
    if (!isApproved && changes?.digest === this.#stored) return
    this.#stored = changes?.digest
    const save = async () => {
      // Another process may have approved other tools since: those are stored again.
      const others = isApproved ? undefined : await approvals.load(subject)
      if (others?.unreadable || (!others && !isApproved && this.#isUnreadable))
        return log.warn({ server: subject.server, folder: approvals.folder }, UNREADABLE)
      const record = { approved: others?.approved ?? [...approved] }
      await approvals.save(subject, { ...record, ...(changes && { found: definitionsOf(found) }) })
    }
    this.#saving = this.#saving.then(save).catch(error => {
      const detail = messageOf(error)
      log.warn({ server: subject.server, detail }, 'the approved tools could not be written to the cache')
    })
  }

  /** Resolves once the approved tools are stored, or could not be. */
  saved(): Promise<void> {
    return this.#saving
  }

  #reportHidden(hidden: HiddenText | undefined): void {
    const text = hidden && canonicalJson(hidden)
    if (text === this.#reportedHidden) return
    this.#reportedHidden = text
    const { subject, log } = this.#options
    if (hidden)
      log.warn(
        { server: subject.server, hidden: hidden.findings, texts: hidden.count },
        'text hides characters',
      )
  }
}
