/** `npm run build`: bundles the program into dist/ or the given folder. Clones, the image and the npm package run this bundle. */
import { copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join, resolve } from 'node:path'
import { type BuildOptions, build, type Metafile, type Plugin } from 'esbuild'
import { PAGE_FILE } from '../core/console/page.ts'
import { buildConsole } from './console.ts'
import { buildKernel } from './kernel.mjs'

const root = dirname(import.meta.dirname)
/** Defines `require`, which ES modules lack: CommonJS packages load Node's modules with it. */
const REQUIRE = `import { createRequire as portolanRequire } from 'node:module';const require = portolanRequire(import.meta.url);`
/** How source code refers to a file beside it. */
const FILE_BESIDE = /new URL\(\s*'(\.[^']+)',\s*import\.meta\.url,?\s*\)/g
const MANIFEST = join(root, 'package.json')
const LICENSE_FILE = /^(licen[cs]e|copying|notice)(-\w+)?(\.(md|txt))?$/i

/**
 * Empties `folder`, then writes `bridge.cjs` (a single file for any container), `portolan.js` with its chunks, workers and data,
 * `command.js` (the entry point of the npm package), `console.json` (the console's page), and the licences of all bundled packages. Equal sources give equal bytes.
 */
export async function bundle(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  await buildKernel(process.execPath)
  const bridge = bundleFile(join(root, 'bridge', 'main.ts'), join(folder, 'bridge.cjs'))
  const [page, ...metafiles] = await Promise.all([buildConsole(), bridge, bundleProgram(folder)])
  await writeFile(join(folder, PAGE_FILE), JSON.stringify(Object.fromEntries(page.page)))
  for (const name of await readdir(folder)) if (/\.c?js$/.test(name)) await escapeFile(join(folder, name))
  await writeFile(join(folder, 'LICENSES.txt'), await licensesOf([page.metafile, ...metafiles.flat()]))
}

/** Bundles a program into a single file. As CommonJS (`.cjs`) it takes 9 MB less memory than as an ES module. */
export async function bundleFile(entry: string, outfile: string): Promise<Metafile> {
  const files = new Set<string>()
  const kind: BuildOptions = outfile.endsWith('.cjs') ? { format: 'cjs', banner: {} } : {}
  const { metafile } = await build({
    ...settings(files),
    ...kind,
    metafile: true,
    entryPoints: [entry],
    outfile,
  })
  if (files.size > 0) throw new Error(`${outfile} must be one file, but it reads ${[...files].join(', ')}`)
  return metafile
}

async function bundleProgram(folder: string): Promise<Metafile[]> {
  const files = new Set<string>()
  const options = { ...settings(files), metafile: true as const, outdir: folder }
  const entryPoints = {
    portolan: join(root, 'cli', 'main.ts'),
    command: join(root, 'cli', 'package', 'main.ts'),
  }
  const program = await build({ ...options, entryPoints, splitting: true, chunkNames: 'chunk-[hash]' })
  const workers = await build({ ...options, entryPoints: placesOf([...files].filter(isSource)) })
  // `files` now also contains the data files of the workers.
  const data = [...files].filter(file => !isSource(file) && file !== MANIFEST)
  for (const [name, file] of Object.entries(placesOf(data))) await copyFile(file, join(folder, name))
  const { name, version, license, type } = JSON.parse(await readFile(MANIFEST, 'utf8'))
  await writeFile(join(folder, basename(MANIFEST)), `${JSON.stringify({ name, version, license, type })}\n`)
  return [program.metafile, workers.metafile]
}

/**
 * Escapes all non-ASCII characters (esbuild does that in strings only), because V8 stores a source with any character beyond Latin-1
 * as two bytes per character. A backslash before such a character has no meaning and is removed.
 */
async function escapeFile(file: string): Promise<void> {
  const text = await readFile(file, 'utf8')
  const escaped = text.replace(/(\\*)([\u0080-\uffff])/g, (_whole, before: string, unit: string) => {
    const code = unit.charCodeAt(0).toString(16).padStart(4, '0')
    return `${before.length % 2 === 1 ? before.slice(1) : before}\\u${code}`
  })
  if (escaped !== text) await writeFile(file, escaped)
}

/** The names, versions and licences of the packages whose code is in the bundle. */
async function licensesOf(metafiles: readonly Metafile[]): Promise<string> {
  const inputs = metafiles.flatMap(({ outputs }) => Object.values(outputs).map(({ inputs }) => inputs))
  const used = inputs.flatMap(Object.entries<{ bytesInOutput: number }>)
  const paths = used.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([path]) => path)
  const packages = paths.flatMap(path => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? [])
  const texts = [...new Set(packages)].sort().map(async folder => {
    const { name, version, license } = JSON.parse(await readFile(join(root, folder, 'package.json'), 'utf8'))
    const file = (await readdir(join(root, folder))).find(entry => LICENSE_FILE.test(entry))
    const text = file === undefined ? '' : `\n\n${(await readFile(join(root, folder, file), 'utf8')).trim()}`
    return `${name} ${version}: ${license}${text}\n`
  })
  return (await Promise.all(texts)).join(`\n${'-'.repeat(80)}\n\n`)
}

/** The options of esbuild. Adds to `files` the paths of the files that our sources read from their own folder. */
function settings(files: Set<string>): BuildOptions {
  return {
    absWorkingDir: root,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node22',
    banner: { js: REQUIRE },
    legalComments: 'none',
    // Identifiers are not minified, so that stack traces are readable.
    minifySyntax: true,
    minifyWhitespace: true,
    // The UMD build of jsonc-parser loads its parts in a way that cannot be bundled.
    mainFields: ['module', 'main'],
    logLevel: 'warning',
    plugins: [filesBeside(files), requiredHttp, loadedOnUse],
  }
}

/**
 * Replaces imports of `node:http` by `require`. An import reads all exports, and for WebSocket Node then loads its own copy of undici,
 * which takes 90 ms of CPU time; with `require`, an export is read when it is used.
 */
const requiredHttp: Plugin = {
  name: 'required-http',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^(node:)?http$/ }, ({ kind }) =>
      kind === 'import-statement' ? { path: 'node:http', namespace: 'required' } : undefined,
    )
    onLoad({ filter: /./, namespace: 'required' }, ({ path }) => ({
      contents: `module.exports = require('${path}')`,
    }))
  },
}

/** CommonJS packages that no program needs until it has started: an import of one of them loads it when an export is first used. */
const ON_USE = ['undici', 'ajv/dist/2020.js']

/** Replaces imports of these packages by objects whose getters load the package. */
const loadedOnUse: Plugin = {
  name: 'loaded-on-use',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^(undici|ajv\/)/ }, ({ kind, path }) =>
      kind === 'import-statement' && ON_USE.includes(path) ? { path, namespace: 'on-use' } : undefined,
    )
    onLoad({ filter: /./, namespace: 'on-use' }, ({ path }) => {
      const names = Object.keys(createRequire(MANIFEST)(path)).filter(name => /^\w+$/.test(name))
      const getters = names.map(name => `get ${name}() { return require('${path}').${name} }`)
      return { contents: `module.exports = { ${getters.join(', ')} }`, resolveDir: root }
    })
  },
}

/** Collects the files that our sources read from their own folder, and rewrites the references to the bundle's folder. */
function filesBeside(files: Set<string>): Plugin {
  return {
    name: 'files-beside',
    setup({ onLoad }) {
      onLoad({ filter: /\.ts$/ }, async ({ path }) => {
        const text = await readFile(path, 'utf8')
        const contents = text.replaceAll(FILE_BESIDE, (_whole, relative: string) => {
          const file = resolve(dirname(path), relative)
          files.add(file)
          return `new URL('./${placeOf(file, '.js')}', import.meta.url)`
        })
        return { contents, loader: 'ts' }
      })
    },
  }
}

/** Workers are TypeScript sources, which are bundled, too; other files are copied. */
function isSource(file: string): boolean {
  return file.endsWith('.ts')
}

/** The name of the file in the bundle; `extension` replaces `.ts`. */
function placeOf(file: string, extension: string): string {
  return isSource(file) ? `${basename(file, '.ts')}${extension}` : basename(file)
}

/** The files by their names in the bundle, without `.ts`. Throws if two have the same name. */
export function placesOf(files: readonly string[]): Record<string, string> {
  const places: Record<string, string> = {}
  for (const file of files) {
    const name = placeOf(file, '')
    if (places[name] !== undefined)
      throw new Error(`${places[name]} and ${file} have the same name in the bundle: rename one`)
    places[name] = file
  }
  return places
}

async function main(): Promise<void> {
  const folder = resolve(process.argv[2] ?? join(root, 'dist'))
  await bundle(folder)
  process.stdout.write(`${folder}\n`)
}

if (import.meta.main) await main()
