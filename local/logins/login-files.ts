/** Stores the logins of users at upstreams on a laptop. Each is a file that only its owner can read. */
import { hash } from 'node:crypto'
import { readdir, readFile, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { Fault } from '../../core/errors.ts'
import type { User } from '../../core/mcp/user.ts'
import { replaceFile } from '../../core/replace-file.ts'
import { isKeptLogin, type KeptLogin, type LoginStore } from '../../router/logins/kept-login.ts'

/** The number of files is limited, since this machine does not control how many users there are. */
const MAX_LOGINS = 10_000

export class LoginFiles implements LoginStore {
  readonly #folder: string
  readonly #max: number

  constructor(cacheFolder: string, max = MAX_LOGINS) {
    this.#folder = join(cacheFolder, 'logins')
    this.#max = max
  }

  /** The login of a user at the server `name` with this URL; undefined if there is none, or its file cannot be read. */
  async read(name: string, url: string, user: User): Promise<KeptLogin | undefined> {
    const login = await readLogin(this.#fileOf(name, url, user.key))
    return login?.name === name && login.url === url && login.subject === user.subject ? login : undefined
  }

  /** Throws Fault `unavailable` if there are too many logins. */
  async write(login: KeptLogin, user: User): Promise<void> {
    const file = this.#fileOf(login.name, login.url, user.key)
    const others = (await this.#names()).filter(name => name !== basename(file))
    if (others.length >= this.#max)
      throw new Fault('unavailable', 'This machine keeps too many logins: delete some with portolan logins')
    await replaceFile(file, JSON.stringify(login))
  }

  async delete(name: string, url: string, user: User): Promise<void> {
    await rm(this.#fileOf(name, url, user.key), { force: true })
  }

  /** All logins that can be read, with their files, sorted by server and user. */
  async list(): Promise<{ file: string; login: KeptLogin }[]> {
    const files = (await this.#names()).slice(0, this.#max)
    const read = await Promise.all(
      files.map(async name => {
        const file = join(this.#folder, name)
        const login = await readLogin(file)
        return login ? [{ file, login }] : []
      }),
    )
    const key = ({ login }: { login: KeptLogin }) => `${login.name}\0${login.subject}`
    return read.flat().sort((a, b) => (key(a) < key(b) ? -1 : 1))
  }

  /** Deletes all logins at servers with this name, or only those of the user `subject`. Returns their number. */
  async deleteOf(name: string, subject?: string): Promise<number> {
    const found = (await this.list()).filter(
      ({ login }) => login.name === name && (subject === undefined || login.subject === subject),
    )
    await Promise.all(found.map(({ file }) => rm(file, { force: true })))
    return found.length
  }

  async #names(): Promise<string[]> {
    const names = await readdir(this.#folder).catch(() => [])
    return names.filter(name => name.endsWith('.json'))
  }

  #fileOf(name: string, url: string, userKey: string): string {
    const id = hash('sha256', JSON.stringify([name, url, userKey]))
    return join(this.#folder, `${id}.json`)
  }
}

async function readLogin(file: string): Promise<KeptLogin | undefined> {
  try {
    const value: unknown = JSON.parse(await readFile(file, 'utf8'))
    return isKeptLogin(value) ? value : undefined
  } catch {
    return undefined
  }
}
