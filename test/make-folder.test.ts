import { existsSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeFolder } from '../src/foundation/make-folder.ts'
import { temporaryFolder } from './support/temporary.ts'

test('a folder is created with those above it, and one that is there stays', () => {
  const path = join(temporaryFolder(), 'one', 'two')
  makeFolder(path, 0o700)
  makeFolder(path, 0o700)
  expect(statSync(path).isDirectory()).toBe(true)
  if (process.platform !== 'win32') expect(statSync(path).mode & 0o777).toBe(0o700)
})

test('a file in its place, or in the way, is an error', () => {
  const file = join(temporaryFolder(), 'file')
  writeFileSync(file, '')
  expect(() => makeFolder(file)).toThrow('EEXIST')
  expect(() => makeFolder(join(file, 'folder'))).toThrow(/EEXIST|ENOTDIR/)
})

test.skipIf(!existsSync('/proc/self'))('where nothing can be created, it ends', () => {
  expect(() => makeFolder('/proc/one/two')).toThrow('ENOENT')
})
