/** Volumes for claims, since the cluster has no provisioner: folders of its first node, of a StorageClass that is the default. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Portolan } from './portolan.ts'

/** They are deleted after the test. */
export async function provideVolumes(
  { cluster }: Portolan,
  count: number,
  t: { after(end: () => Promise<void>): void },
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'portolan-volumes-'))
  const storageClassName = `local-${folder.slice(-6).toLowerCase()}`
  const node = cluster.node(1).name
  const isHere = { key: 'kubernetes.io/hostname', operator: 'In', values: [node] }
  const storageClass = {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: {
      name: storageClassName,
      annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' },
    },
    provisioner: 'kubernetes.io/no-provisioner',
    volumeBindingMode: 'WaitForFirstConsumer',
  }
  const volumes = Array.from({ length: count }, (_, at) => ({
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: `${storageClassName}-${at}` },
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce', 'ReadWriteMany'],
      persistentVolumeReclaimPolicy: 'Retain',
      storageClassName,
      local: { path: mkdtempSync(join(folder, 'volume-')) },
      nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [isHere] }] } },
    },
  }))
  const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [storageClass, ...volumes] })
  await cluster.run(['kubectl', 'apply', '-f', '-'], { input })
  t.after(async () => {
    await cluster.run(['kubectl', 'delete', '--wait=false', '-f', '-'], { input })
    rmSync(folder, { recursive: true, force: true })
  })
}
