/** A regular expression that the sources build while they run, and the file that has built it first. */
export interface BuiltPattern {
  readonly file: string
  readonly source: string
  readonly flags: string
}

const built = new Map<string, BuiltPattern>()
const root = new URL('../../', import.meta.url).href

// Before the sources are loaded: some build theirs then.
globalThis.RegExp = new Proxy(RegExp, {
  construct(target, given, made) {
    const pattern = Reflect.construct(target, given, made) as RegExp
    const [, file] = new Error().stack?.match(`${root}(src/[^:?]*)`) ?? []
    const { source, flags } = pattern
    if (file !== undefined && !built.has(`${file} ${pattern}`))
      built.set(`${file} ${pattern}`, { file, source, flags })
    return pattern
  },
})

/** Builds those of the API, of the definitions that the package has, and of what a definition can say. */
async function buildAll(): Promise<void> {
  const { generateOpenApi } = await import('./write-openapi.ts')
  await generateOpenApi()
  const { checkHere } = await import('./check-here.ts')
  const { Containers, findDefinition, loadDefinition, selectFiles } = await import(
    '../../src/engines/checking/index.ts'
  )
  for (const [name, folder] of [
    ['sdr', 'samples/sdr/as-exported'],
    ['gtfs', 'samples/gtfs/faulty'],
  ] as const) {
    const definition = loadDefinition(findDefinition(name))
    const { files } = await selectFiles(new Containers(), [folder], definition)
    const { dispose } = await checkHere({ definition, files })
    await dispose()
  }
  await import('../../src/engines/finding/fold.ts')
  const { compileMoment } = await import('../../src/engines/checking/definition/moments.ts')
  for (const type of ['date', 'time'] as const) compileMoment(type, 'any')
  compileMoment('datetime', ' %a  %d %b%j %y %I:%M:%S.%f %p%z %Z ')
  const { compileNumber } = await import('../../src/engines/checking/definition/numbers.ts')
  for (const groupChar of [undefined, ',', '.', ' '])
    for (const bareNumber of [true, false])
      compileNumber({ decimalChar: groupChar === '.' ? ',' : '.', groupChar, bareNumber })
}

await buildAll()
process.stdout.write(JSON.stringify([...built.values()]))
