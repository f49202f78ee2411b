import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { API } from 'typescript/unstable/sync'

const FOLDER = fileURLToPath(new URL('../', import.meta.url))

/** A field of an interface or class. */
interface Field {
  /** As the compiler writes it, without `undefined`; alternatives in alphabetical order. */
  readonly type: string
}

interface Interface {
  readonly fields: Readonly<Record<string, Field>>
}

/** What each source file of the client exports: the compiler takes more than a second to start, so it starts once. */
const FILES = new Map<string, Record<string, Interface>>()

/** The interfaces and classes that a source file of the client exports, by name, as the compiler sees them. */
export function readTypes(name: string): Record<string, Interface> {
  if (FILES.size === 0) readAll()
  const found = FILES.get(name)
  if (found === undefined) throw new Error(`the compiler does not find ${name}`)
  return found
}

function readAll(): void {
  const api = new API({ cwd: FOLDER })
  try {
    const project = api
      .updateSnapshot({ openProjects: [`${FOLDER}tsconfig.json`] })
      .getProject(`${FOLDER}tsconfig.json`)
    if (project === undefined) throw new Error('the compiler does not find the client')
    const { checker, program } = project
    for (const name of readdirSync(`${FOLDER}src`)) {
      const file = program.getSourceFile(`${FOLDER}src/${name}`)
      const module = file && checker.getSymbolAtLocation(file)
      const exported = module === undefined ? [] : checker.getExportsOfModule(module)
      const types = exported.map((symbol): [string, Interface] => {
        const properties = checker.getPropertiesOfType(checker.getDeclaredTypeOfSymbol(symbol))
        const fields = properties.map((property): [string, Field] => {
          const type = checker.getTypeOfSymbol(property)
          const alternatives = (type === undefined ? '' : checker.typeToString(type)).split(' | ')
          const present = alternatives.filter((each) => each !== 'undefined').sort()
          return [property.name, { type: present.join(' | ') }]
        })
        return [symbol.name, { fields: Object.fromEntries(fields) }]
      })
      FILES.set(name, Object.fromEntries(types))
    }
  } finally {
    api.close()
  }
}
