/** Recognition of packages in command lines. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sourceOf } from './recognised-package.ts'

const source = (line: string) => {
  const [command = '', ...args] = line.split(' ')
  return sourceOf(command, args, undefined)
}

test('packages are recognised for every runner, with its path, its extension and its flags', () => {
  const pinned = { npm: { package: '@acme/mcp', version: '1.2.3', args: ['--x'] } }
  for (const runner of [
    'npx -y',
    'npx',
    '/usr/bin/npx --yes',
    'npx.cmd -q -y',
    'npm exec -y --',
    'pnpm dlx',
    'pnpx',
    'bunx',
    'cmd /c npx -y',
    'cmd /C npx',
  ]) {
    assert.deepEqual(source(`${runner} @acme/mcp@1.2.3 --x`), pinned, runner)
  }
  const python = { pypi: { package: 'acme-mcp', version: '1.2.3', args: ['--x'] } }
  for (const start of [
    'uvx acme-mcp@1.2.3',
    'uv tool run acme-mcp@1.2.3',
    'pipx run acme-mcp==1.2.3',
    '/opt/uvx -q acme-mcp==1.2.3',
  ]) {
    assert.deepEqual(source(`${start} --x`), python, start)
  }
})

test('the source has both names if the executable is not called like the package', () => {
  assert.deepEqual(source('npx -y -p @acme/suite@2.0.0 acme-mcp'), {
    npm: { package: '@acme/suite', version: '2.0.0', bin: 'acme-mcp' },
  })
  assert.deepEqual(source('npx --package=@acme/suite acme-mcp -v'), {
    npm: { package: '@acme/suite', bin: 'acme-mcp', args: ['-v'] },
  })
  assert.deepEqual(source('uvx --from acme[cli]==2.0 acme-mcp'), {
    pypi: { package: 'acme[cli]', version: '2.0', bin: 'acme-mcp' },
  })
})

test('latest is the same as no version', () => {
  assert.deepEqual(source('npx acme-mcp@latest'), { npm: { package: 'acme-mcp' } })
  assert.deepEqual(source('uvx acme-mcp'), { pypi: { package: 'acme-mcp' } })
})

test('a command line with an unknown part stays an unchanged command', () => {
  const lines = [
    'npx',
    'npx -y',
    'npx --registry=https://npm.example.com acme',
    'npx -y ./packages/mcp',
    'npx -y github:acme/mcp',
    'npx -y acme@^1.2',
    'npx -c acme',
    'npx -p a -p b acme',
    'uvx --with x acme',
    'uvx --from git+https://github.com/acme/mcp acme',
    'uv run server.py',
    'npm run start',
    'docker run -i --rm mcp/git',
    'node server.js',
  ]
  for (const line of lines) {
    const [run, ...args] = line.split(' ')
    assert.deepEqual(source(line), { command: { run, args } }, line)
  }
})
