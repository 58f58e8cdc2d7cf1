/** Tests of the names that are offered for one that does not exist. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nearestNames, SIMILAR } from './nearest.ts'

const names = ['github:create_issue', 'github:create_branch', 'gitlab:create_issue', 'maps:geocode', 'x']

test('the nearest names come first, mistyped or without their server', () => {
  assert.equal(nearestNames('github:create_isue', names, 3)[0], 'github:create_issue')
  assert.deepEqual(nearestNames('create_issue', names, 2), ['github:create_issue', 'gitlab:create_issue'])
  assert.equal(nearestNames('geocod', names, 3)[0], 'maps:geocode')
})

test('a name with a letter missing comes before one with a word missing', () => {
  const files = ['filesystem:read_file', 'filesystem:read_text_file', 'filesystem:read_media_file']
  assert.equal(nearestNames('filesystem:read_txt_file', files, 3)[0], 'filesystem:read_text_file')
})

test('as many nearest names are offered as wanted, also for unusual names', () => {
  for (const odd of ['zzzzqqqq', '', ' ', '::', '云', 'a'.repeat(100_000)])
    assert.equal(nearestNames(odd, names, 3).length, 3)
  assert.deepEqual(nearestNames('x', ['x'], 3), ['x'])
  assert.deepEqual(nearestNames('x', [], 3), [])
})

test('on request only similar names are offered', () => {
  const servers = ['calendar', 'forge', 'oldweather']
  for (const [wanted, similar] of [
    ['calender', ['calendar']],
    ['google-calendar', ['calendar']],
    ['ofrge', ['forge']],
    ['weather', ['oldweather']],
    ['zzz', []],
    ['slack', []],
    ['jira', []],
    ['', []],
  ] as const)
    assert.deepEqual(nearestNames(wanted, servers, 3, SIMILAR), similar, wanted)
})
