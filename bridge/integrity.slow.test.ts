/** The bridge compares packages with the records of earlier pods: real installations with npm, and uv or pip, from a test registry. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { reportOf, startInstaller } from '../test/support/installer.ts'

for (const kind of ['npm', 'pypi'] as const) {
  test(`${kind}: a pod reports what it installs, and refuses changed content of the same version until it is approved`, async t => {
    const { registry, folder, install, keep } = await startInstaller(t, kind)
    const first = reportOf(await install())
    assert.deepEqual([first.kind, first.package, first.version], [kind, 'greeter', '1.0.0'])
    keep({ records: [first] })
    const ran = join(folder, 'ran')
    await registry.republish(`touch ${ran}`)
    const refused = await install()
    assert.equal(refused.code, 1)
    assert.match(
      refused.message,
      /^IntegrityChanged: greeter 1\.0\.0 of \w+ has other content than when it was first installed for this server: .* set the annotation portolan\.dev\/approve of the McpServer to \S+\.$/,
    )
    assert.equal(existsSync(ran), false, 'a script of the package ran')
    assert.equal(existsSync(join(folder, 'package')), false, 'the refused package can still be started')

    const found = /its integrity is (\S+), it was (\S+)\. /.exec(refused.message) ?? []
    assert.equal(found[2], first.integrity)
    keep({ records: [first], approved: found[1] })
    assert.deepEqual(reportOf(await install()), { ...first, integrity: found[1] })
    assert.equal(existsSync(ran), kind === 'npm')
  })
}
