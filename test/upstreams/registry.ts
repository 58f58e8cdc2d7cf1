/** An npm registry and a PyPI index on 127.0.0.1, each with one package: `greeter` 1.0.0, an MCP server. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { createGzip } from 'node:zlib'
import { pack } from 'tar-stream'
import { serve } from './http/serve.ts'

export type TestRegistry = {
  npm: string
  pypi: string
  /** Serves other content under the same version from now on; `script` runs when npm installs it. */
  republish(script: string): Promise<void>
  /** The npm registry no longer tells digests. */
  omitDigests(): void
  close(): Promise<void>
}

const SERVER_JS = `#!/usr/bin/env node
require('node:readline').createInterface({ input: process.stdin }).on('line', line => {
  const { id, method } = JSON.parse(line)
  const initialized = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 'greeter', version: '1' } }
  const result = { ...initialized, instructions: process.argv.slice(2).join(' ') }
  if (id !== undefined) process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\\n')
})
`
const MANIFEST = { name: 'greeter', version: '1.0.0', bin: { greeter: 'server.js' } }
const WHEEL = 'greeter-1.0.0-py3-none-any.whl'
const MAKE_WHEEL = `
import sys, zipfile
server = '''import json, sys
def main():
    for line in sys.stdin:
        message = json.loads(line)
        if 'id' in message:
            result = {'protocolVersion': '2025-11-25', 'capabilities': {}, 'serverInfo': {'name': 'greeter', 'version': '1'}, 'instructions': ' '.join(sys.argv[1:])}
            print(json.dumps({'jsonrpc': '2.0', 'id': message['id'], 'result': result}), flush=True)
'''
info = 'greeter-1.0.0.dist-info'
files = {
    'greeter.py': server + sys.argv[2],
    info + '/METADATA': 'Metadata-Version: 2.1\\nName: greeter\\nVersion: 1.0.0\\n',
    info + '/WHEEL': 'Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n',
    info + '/entry_points.txt': '[console_scripts]\\ngreeter = greeter:main\\n',
}
files[info + '/RECORD'] = ''.join(name + ',,\\n' for name in [*files, info + '/RECORD'])
with zipfile.ZipFile(sys.argv[1], 'w') as wheel:
    for name, text in files.items():
        wheel.writestr(name, text)
`

export async function startRegistry(): Promise<TestRegistry> {
  let tarball = await makeTarball(MANIFEST)
  let hasInstallScript = false
  let hasDigest = true
  let wheel = makeWheel()
  const { origin, close } = await serve((request, response) => {
    const bodies: Record<string, Buffer | string> = {
      '/npm/greeter': JSON.stringify(
        packument(`${origin}/npm/greeter-1.0.0.tgz`, hasInstallScript, hasDigest ? tarball : undefined),
      ),
      '/npm/greeter-1.0.0.tgz': tarball,
      '/simple/greeter/': `<a href="/wheels/${WHEEL}">${WHEEL}</a>`,
      [`/wheels/${WHEEL}`]: wheel,
    }
    const body = bodies[request.url ?? '']
    const type = request.url?.startsWith('/simple/') ? 'text/html' : 'application/octet-stream'
    response.writeHead(body === undefined ? 404 : 200, { 'content-type': type })
    response.end(body)
  })
  return {
    npm: `${origin}/npm/`,
    pypi: `${origin}/simple/`,
    async republish(postinstall) {
      tarball = await makeTarball({ ...MANIFEST, scripts: { postinstall } })
      hasInstallScript = true
      wheel = makeWheel('# changed')
    },
    omitDigests() {
      hasDigest = false
    },
    close,
  }
}

/** Without `hasInstallScript` npm runs no script of a package that is in a lock file. */
function packument(tarball: string, hasInstallScript: boolean, digested: Buffer | undefined): object {
  const digest = digested && createHash('sha512').update(digested).digest('base64')
  const dist = { tarball, ...(digest && { integrity: `sha512-${digest}` }) }
  const version = { ...MANIFEST, hasInstallScript, dist }
  return { name: 'greeter', 'dist-tags': { latest: '1.0.0' }, versions: { '1.0.0': version } }
}

function makeTarball(manifest: object): Promise<Buffer> {
  const archive = pack()
  archive.entry({ name: 'package/package.json' }, JSON.stringify(manifest))
  archive.entry({ name: 'package/server.js', mode: 0o755 }, SERVER_JS)
  archive.finalize()
  return buffer(archive.pipe(createGzip()))
}

function makeWheel(more = ''): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'portolan-wheel-'))
  try {
    const file = join(folder, WHEEL)
    execFileSync('python3', ['-c', MAKE_WHEEL, file, more])
    return readFileSync(file)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
