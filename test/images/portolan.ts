/** The product's image for tests, made by the same scripts as by the Dockerfile. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { bundle } from '../../scripts/bundle.ts'
import { assembleImageRoot, IMAGE_START } from '../../scripts/image-root.ts'
import type { Image } from '../cluster/image.ts'

/** Bundles into `folder`, and reads the image from there. */
export async function portolanImage(folder: string): Promise<Image> {
  const root = join(folder, 'root')
  await bundle(join(folder, 'bundle'))
  assembleImageRoot(root, join(folder, 'bundle'))
  const system = Object.fromEntries(
    readdirSync(root)
      .filter(name => name !== 'app')
      .map(name => [`/${name}`, { from: join(root, name), except: /^bridge\./ }]),
  )
  // what changes with every change of the sources is a layer of its own
  const programs = {
    '/app': { from: join(root, 'app') },
    '/portolan/bridge.cjs': { from: join(root, 'portolan', 'bridge.cjs') },
  }
  return { reference: 'portolan/portolan:test', layers: [system, programs], ...IMAGE_START }
}
