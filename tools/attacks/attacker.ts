import { ANONYMOUS } from './anonymous.ts'
import { KEYED } from './keyed.ts'
import type { Target } from './wire.ts'

// A process of its own, so that the well-behaved caller is measured without it: attacker.ts NAME TARGET
const [name, target = '{}'] = process.argv.slice(2)
const found = [...ANONYMOUS, ...KEYED].find((each) => each.name === name)
if (found === undefined) throw new Error(`no attack has the name ${name}`)
const controller = new AbortController()
process.on('disconnect', () => process.exit(0))
process.on('unhandledRejection', () => undefined)
process.send?.('begun')
const known = JSON.parse(target) as Target
await found.run(found.caller === 'key' ? known : { ...known, key: '' }, controller.signal)
