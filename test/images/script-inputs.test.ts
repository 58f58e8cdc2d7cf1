/** Scripts refuse what they would otherwise leave out. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { placesOf } from '../../scripts/bundle.ts'
import { assetName } from '../../scripts/console.ts'
import { wanted } from '../../scripts/screenshots.ts'

test('two files of a bundle with the same name are refused', () => {
  assert.deepEqual(placesOf(['/a/one.bin', '/b/two.bin']), {
    'one.bin': '/a/one.bin',
    'two.bin': '/b/two.bin',
  })
  assert.throws(() => placesOf(['/a/one.bin', '/b/one.bin']), /\/a\/one\.bin and \/b\/one\.bin/)
})

test('a view that does not exist is refused, and the error names the others', () => {
  assert.deepEqual(wanted(['log']), [['log', ['light', 'dark']]])
  assert.equal(wanted([]).length, 2)
  assert.throws(() => wanted(['log', 'lgo']), /no view "lgo".*overview.*all/)
})

test('a script or style that the page lacks is refused', () => {
  const files = new Map([['app-1.js', '']])
  assert.equal(assetName(files, 'app', '.js'), 'app-1.js')
  assert.throws(() => assetName(files, 'style', '.css'), /no style/)
})
