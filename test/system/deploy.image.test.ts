import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, readdirSync } from 'node:fs'
import { createServer } from 'node:http'
import { join, relative } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { readSettings } from '../../src/settings.ts'
import { listenOn } from '../support/connection.ts'
import {
  isSetting,
  PACKAGE,
  ROOT,
  readDockerfile,
  readRepositoryFile,
  type Stage,
} from '../support/deploy.ts'
import { temporaryFolder } from '../support/temporary.ts'

const run = promisify(execFile)
const stages = readDockerfile('deploy/Dockerfile')
const image = stages.at(-1) as Stage

const wordsOf = (stage: Stage, name: string) =>
  stage.instructions.find((instruction) => instruction.name === name)?.words ?? []
const commandsOf = (stage: Stage) =>
  stage.instructions.filter(({ name }) => name === 'RUN').map(({ words }) => words.join(' '))
/** Paths of the repository that a stage copies. */
const sourcesOf = (stage: Stage) =>
  stage.instructions
    .filter(({ name, flags }) => name === 'COPY' && flags.from === undefined)
    .flatMap(({ words }) => words.slice(0, -1))
const covers = (paths: readonly string[], path: string) =>
  paths.some((each) => path === each || path.startsWith(`${each}/`))

test('every base image is pinned to a version, and its Node.js is the one that the package asks for', () => {
  const [, major] = /^>=(\d+)$/.exec(PACKAGE.engines.node) ?? []
  for (const [index, { base }] of stages.entries()) {
    if (stages.slice(0, index).some(({ name }) => name === base)) continue
    expect(base).toMatch(new RegExp(`^(?:node:${major}-\\S+|\\S+/nodejs${major}-debian\\d+:nonroot)$`))
  }
})

test('every path that is copied exists, and the context lets it through', () => {
  const context = readRepositoryFile('.dockerignore')
    .split('\n')
    .filter((line) => line.startsWith('!'))
    .map((line) => line.slice(1))
  expect(readRepositoryFile('.dockerignore').split('\n')).toContain('*')
  for (const path of context) expect(existsSync(`${ROOT}${path}`), path).toBe(true)
  for (const path of stages.flatMap(sourcesOf)) {
    expect(existsSync(`${ROOT}${path}`), path).toBe(true)
    expect(covers(context, path), `${path} in .dockerignore`).toBe(true)
  }
})

test('the image leaves out of its packages what the package leaves out', async () => {
  expect(stages.flatMap(commandsOf).join('\n')).toContain('&& node .ci/unused.js && ')
  expect(readRepositoryFile('.ci/pack.js')).toContain(`from './unused.js'`)
  const folder = temporaryFolder()
  for (const name of ['@cj-tech-master/excelts', 'better-sqlite3', 'bintrees'])
    cpSync(`${ROOT}node_modules/${name}`, join(folder, 'node_modules', name), { recursive: true })
  const list = () =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => !/package\.json$/.test(path))
  expect(list().join('\n')).toMatch(/dist\/iife[\s\S]*better-sqlite3\/deps\//)
  await run(process.execPath, [`${ROOT}.ci/unused.js`, folder])
  expect(
    list().filter((path) => /\.(?:map|[cm]?ts)$|dist\/(?:browser|cjs|iife|types)|3\/(?:deps|src)/.test(path)),
  ).toEqual([])
  const loading = `const { default: Sqlite } = await import('better-sqlite3'); new Sqlite(':memory:')`
  await run(process.execPath, ['--input-type=module', '--eval', loading], { cwd: folder })
  // What is left out has moved in another version: nothing is removed unnoticed.
  await expect(run(process.execPath, [`${ROOT}.ci/unused.js`, folder])).rejects.toThrow(/is no longer there/)
})

test('the build finds every source that the compiler reads', async () => {
  const compiler = `${ROOT}node_modules/.bin/tsc`
  const { stdout } = await run(compiler, ['-p', 'tsconfig.build.json', '--listFilesOnly'], {
    cwd: ROOT,
    maxBuffer: 2 ** 26,
  })
  const files = stdout
    .split('\n')
    .map((line) => relative(ROOT, line.trim()))
    .filter((path) => path !== '' && !path.startsWith('node_modules/'))
  const build = stages.filter(({ name }) => name === 'packages' || name === 'build').flatMap(sourcesOf)
  expect(files).toContain('src/start.ts')
  expect(files.filter((path) => !covers(build, path))).toEqual([])
})

test('the image holds what the package holds, but for what is only read by people', () => {
  const targets = image.instructions.filter(({ name }) => name === 'COPY')
  const copied = targets.flatMap(({ words }) =>
    words.slice(0, -1).map((path) => path.replace(/^\/app\//, '')),
  )
  // The package has the files of deploy, without the secrets beside them.
  expect(PACKAGE.files).toEqual(expect.arrayContaining(['deploy', '!deploy/.env']))
  const needed = PACKAGE.files.filter((path) => !/^!?docs\b|^!?deploy\b|\.md$/.test(path))
  expect(copied).toEqual(expect.arrayContaining([...needed, 'package.json', 'node_modules']))
  for (const { words } of targets) expect(words.at(-1)).toMatch(/^\/(?:app\/|data$)/)
})

test('the image runs as a user who is not root, and owns nothing but /data', () => {
  expect(wordsOf(image, 'USER')).toEqual(['65532:65532'])
  const owned = image.instructions.filter(({ flags }) => flags.chown !== undefined)
  expect(owned.map(({ flags, words }) => [flags.chown, words.at(-1)])).toEqual([['65532:65532', '/data']])
  expect(wordsOf(image, 'WORKDIR')).toEqual(['/data'])
  expect(wordsOf(image, 'VOLUME')).toEqual(['/data'])
  expect(wordsOf(image, 'STOPSIGNAL')).toEqual(['SIGTERM'])
})

test('the settings of the image are settings, and agree with the port that it exposes', () => {
  const given = Object.fromEntries(wordsOf(image, 'ENV').map((word) => word.split('=', 2))) as Record<
    string,
    string
  >
  const { NODE_ENV, TMPDIR, ...settings } = given
  expect(NODE_ENV).toBe('production')
  // The only folder that can be written to.
  expect(TMPDIR).toBe('/data')
  expect(Object.keys(settings).filter((name) => !isSetting(name))).toEqual([])
  expect(readSettings(settings)).toMatchObject({ PORT: Number(wordsOf(image, 'EXPOSE')[0]) })
  expect(settings.DATABASE_URL).toMatch(/^sqlite:\/data\//)
})

test('the health check of the image distinguishes a ready service from one that is gone', async () => {
  const [cmd, node, ...given] = wordsOf(image, 'HEALTHCHECK')
  expect([cmd, node]).toEqual(['CMD', '/nodejs/bin/node'])
  let status = 200
  const server = createServer(({ url }, response) => {
    response.writeHead(url === '/readyz' ? status : 404).end()
  })
  const PORT = String(await listenOn(server))
  const check = () =>
    run(process.execPath, given, { env: { PORT } }).then(
      () => 0,
      (error: { code: number }) => error.code,
    )
  expect(await check()).toBe(0)
  status = 503
  expect(await check()).toBe(1)
  server.closeAllConnections()
  server.close()
  await once(server, 'close')
  expect(await check()).toBe(1)
})
