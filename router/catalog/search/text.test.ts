/** Tests of the words that names and sentences are split into. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { splitIdentifier } from '../../../core/catalog/identifiers.ts'
import { createTermReader, wordsOf } from './text.ts'

test('identifiers are split at every kind of border, and short names with digits stay whole', () => {
  const cases: Record<string, string> = {
    create_issue: 'create issue',
    createIssue: 'create Issue',
    HTTPServerError: 'HTTP Server Error',
    'API-get-user': 'API get user',
    'files/read.text:all': 'files read text all',
    ec2_list: 'ec2 list',
    k8s: 'k8s',
  }
  for (const [name, words] of Object.entries(cases)) assert.equal(splitIdentifier(name), words)
})

test('words keep their order, lose their accents, and have a stem and the index of their run of characters', () => {
  const words = wordsOf("Büro's getUsers, naïve")
  assert.deepEqual(
    words.map(({ text, term, run }) => `${text}/${term}/${run}`),
    ['buro/buro/0', 'get/get/1', 'users/user/1', 'naive/naiv/2'],
  )
})

test('Korean text gives pairs of syllables, with the same letters composed or not', () => {
  const texts = (text: string) => wordsOf(text).map(word => word.text)
  assert.deepEqual(texts('예약취소'), ['예약', '약취', '취소'])
  assert.deepEqual(texts('예약취소'.normalize('NFD')), texts('예약취소'))
})

test('Chinese text gives pairs of characters, and other words beside it stay whole', () => {
  assert.deepEqual(
    wordsOf('列出分支 API').map(word => word.text),
    ['列出', '出分', '分支', 'api'],
  )
  assert.deepEqual(
    wordsOf('云').map(word => word.text),
    ['云'],
  )
})

test('documents lose stopwords, and a compound is followed by its joined form', () => {
  const reader = createTermReader()
  assert.deepEqual(reader.terms('the site_map of a page'), ['site', 'map', 'sitemap', 'page'])
  assert.deepEqual(reader.terms(undefined), [])
})
