import { fileURLToPath } from 'node:url'
import { API } from 'typescript/unstable/sync'

const FOLDER = fileURLToPath(new URL('../', import.meta.url))

/** A field of an interface or class. */
interface Field {
  /** As the compiler writes it, without `undefined`; alternatives in alphabetical order. */
  readonly type: string
  readonly doc: string
}

interface Interface {
  readonly doc: string
  readonly fields: Readonly<Record<string, Field>>
}

/** The interfaces and classes that a source file of the client exports, by name, as the compiler sees them. */
export function readTypes(name: string): Record<string, Interface> {
  const path = `${FOLDER}src/${name}`
  const api = new API({ cwd: FOLDER })
  try {
    const project = api
      .updateSnapshot({ openProjects: [`${FOLDER}tsconfig.json`] })
      .getProject(`${FOLDER}tsconfig.json`)
    const file = project?.program.getSourceFile(path)
    const module = file && project?.checker.getSymbolAtLocation(file)
    if (project === undefined || module === undefined) throw new Error(`the compiler does not find ${path}`)
    const { checker } = project

    const describe = (symbol: Parameters<typeof checker.getDocumentationCommentOfSymbol>[0]) =>
      checker.getDocumentationCommentOfSymbol(symbol).replace(/\s+/g, ' ')
    return Object.fromEntries(
      checker.getExportsOfModule(module).map((symbol) => [
        symbol.name,
        {
          doc: describe(symbol),
          fields: Object.fromEntries(
            checker.getPropertiesOfType(checker.getDeclaredTypeOfSymbol(symbol)).map((property) => {
              const type = checker.getTypeOfSymbol(property)
              const alternatives = (type === undefined ? '' : checker.typeToString(type)).split(' | ')
              return [
                property.name,
                {
                  type: alternatives
                    .filter((each) => each !== 'undefined')
                    .sort()
                    .join(' | '),
                  doc: describe(property),
                },
              ]
            }),
          ),
        },
      ]),
    )
  } finally {
    api.close()
  }
}
