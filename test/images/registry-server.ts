/**
 * An npm registry and PyPI index as a process: `node registry-server.ts FOLDER HOST` serves the packages that packages.ts fetched.
 * Prints `listening` to stdout, and exits when its stdin ends.
 */
import { once } from 'node:events'
import { createReadStream, readdirSync, readFileSync } from 'node:fs'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import process from 'node:process'
import type { NpmIndex } from './packages.ts'

export const NPM_PORT = 4873
export const PYPI_PORT = 4874

function npmRegistry(folder: string): RequestListener {
  const index: NpmIndex = JSON.parse(readFileSync(join(folder, 'npm.json'), 'utf8'))
  const tarballs = new Set(readdirSync(join(folder, 'npm')))
  return (request, response) => {
    const name = decodeURIComponent((request.url ?? '').slice(1))
    const file = name.replace(/^-\//, '')
    if (tarballs.has(file)) return sendFile(response, join(folder, 'npm', file))
    const versions = index[name]
    if (!versions) return notFound(response)
    const sorted = Object.keys(versions).sort((one, other) =>
      one.localeCompare(other, 'en', { numeric: true }),
    )
    const home = `http://${request.headers.host}/-`
    const manifests = Object.entries(versions).map(([version, manifest]) => {
      const { tarball, integrity } = manifest.dist
      return [version, { ...manifest, dist: { tarball: `${home}/${tarball}`, integrity } }]
    })
    const packument = {
      name,
      'dist-tags': { latest: sorted.at(-1) },
      versions: Object.fromEntries(manifests),
    }
    response.setHeader('content-type', 'application/json').end(JSON.stringify(packument))
  }
}

/** A simple index (PEP 503): a page of links for each package. */
function pypiIndex(folder: string): RequestListener {
  const wheels = readdirSync(join(folder, 'pypi'))
  const packages = Map.groupBy(wheels, wheel => normal(wheel.slice(0, wheel.indexOf('-'))))
  return (request, response) => {
    const [place, name = ''] = (request.url ?? '').split('/').filter(Boolean)
    if (place === 'files' && wheels.includes(name)) return sendFile(response, join(folder, 'pypi', name))
    const found = place === 'simple' ? packages.get(normal(name)) : undefined
    if (!found) return notFound(response)
    const links = found.map(wheel => `<a href="/files/${wheel}">${wheel}</a>`)
    response.setHeader('content-type', 'text/html').end(`<!DOCTYPE html>${links.join('\n')}`)
  }
}

function normal(name: string): string {
  return name.toLowerCase().replace(/[-_.]+/g, '-')
}

function sendFile(response: ServerResponse, path: string): void {
  response.setHeader('content-type', 'application/octet-stream')
  createReadStream(path).pipe(response)
}

function notFound(response: ServerResponse): void {
  response.writeHead(404).end('{}')
}

async function main(folder = '', host = '127.0.0.1'): Promise<void> {
  const servers = [
    createServer(npmRegistry(folder)).listen(NPM_PORT, host),
    createServer(pypiIndex(folder)).listen(PYPI_PORT, host),
  ]
  await Promise.all(servers.map(server => once(server, 'listening')))
  process.stdout.write('listening\n')
  process.stdin.resume().on('end', () => process.exit())
}

if (import.meta.main) await main(...process.argv.slice(2))
