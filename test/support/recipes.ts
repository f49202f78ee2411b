import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { type Installation, MAHI, type Outcome } from './command.ts'
import { ROOT, readRepositoryFile } from './deploy.ts'

/** The blocks of commands under a heading of a document, up to the next heading of the same or a higher level. */
export function blocksOf(path: string, heading: string): string[] {
  // Outside of a block, a line that begins with # is a heading.
  const parts = readRepositoryFile(path).split(/^```(?:\w*\n)?/m)
  const blocks: string[] = []
  let level = 0
  for (const [index, part] of parts.entries()) {
    if (index % 2 === 1 && level > 0) blocks.push(part)
    if (index % 2 === 1) continue
    for (const [, marks = '', name] of part.matchAll(/^(#+) (.*)$/gm))
      if (name === heading) level = marks.length
      else if (marks.length <= level) level = 0
  }
  if (blocks.length === 0) throw new Error(`${path} has no commands under "${heading}"`)
  return blocks
}

/**
 * Runs in this machine what the recipes of `deploy/` run in containers: a service of Compose has the environment of its
 * file, an image the volumes of its options. Starting and stopping is left to the test.
 */
const DOCKER = `#!/bin/bash
set -eu
kind=image
if [ "$1" = compose ]; then kind=service; shift 3; fi
verb=$1; shift
case $verb in build|stop|start|up) echo "$verb $*" >>"$STAND_IN/calls"; exit ;; esac
user=; given=()
while case $1 in -*) true ;; *) false ;; esac; do
  case $1 in -v) shift ;; -u) user=\${2%%:*}; shift ;; -e) given+=("$2"); shift ;; esac
  shift
done
name=$1; shift
if [ $kind = service ]; then . "$STAND_IN/$name.env"; elif [ "$name" = mahi ]; then . "$STAND_IN/image.env"; fi
place() { sed -e "s#/data#$STAND_IN/data#g" -e "s#/backup/#$STAND_IN/backup/#g" -e "s#/docker-entrypoint-initdb.d#$ROOT/deploy/postgres#" -e "s#/backup.sh#$ROOT/deploy/postgres/backup.sh#" <<<"$1"; }
for each in "\${given[@]}"; do export "$(place "$each")"; done
words=(); for each; do words+=("$(place "$each")"); done
case $name in mahi|cli) words=(mahi "\${words[@]}") ;; migrate) words=(mahi migrate) ;; esac
if [ -n "\${user:-\${USER_OF_IMAGE:-}}" ]; then
  exec setpriv --reuid "\${user:-$USER_OF_IMAGE}" --regid "\${user:-$USER_OF_IMAGE}" --clear-groups "\${words[@]}"
fi
exec "\${words[@]}"
`

/** A machine on which an operator follows the recipes of the documents. */
export class Machine {
  readonly #mahi: Installation
  readonly #programs: string

  constructor(mahi: Installation) {
    this.#mahi = mahi
    this.#programs = join(mahi.folder, 'bin')
    mkdirSync(this.#programs, { recursive: true })
    this.#install('mahi', `#!/bin/sh\nexec '${process.execPath}' '${MAHI}' "$@"\n`)
    this.#install('docker', DOCKER)
    this.#install('systemctl', '#!/bin/sh\n')
    this.#install('sudo', '#!/bin/sh\nexec "$@"\n')
    // It has installed this repository.
    this.#install('npm', '#!/bin/sh\nif [ "$1" = root ]; then echo "$STAND_IN"; fi\n')
    symlinkSync(ROOT, join(mahi.folder, 'mahi-service'))
  }

  #install(name: string, script: string): void {
    writeFileSync(join(this.#programs, name), script, { mode: 0o755 })
  }

  /** Describes the environment of a service of Compose, or with the name `image` that of the image. */
  describe(name: string, environment: Readonly<Record<string, string | number>>): void {
    const lines = Object.entries(environment).map(([key, value]) => `export ${key}='${value}'\n`)
    writeFileSync(join(this.#mahi.folder, `${name}.env`), lines.join(''))
  }

  /** Runs a block of commands, which has to succeed. */
  async run(commands: string, environment?: Readonly<Record<string, string>>): Promise<void> {
    const outcome = await this.#start(['-e'], commands, environment)
    expect([commands, outcome.code, outcome.code === 0 ? '' : outcome.stderr]).toEqual([commands, 0, ''])
  }

  /** Runs a block of commands as a terminal does into which it is pasted: it goes on after one that fails. */
  async paste(commands: string, environment?: Readonly<Record<string, string>>): Promise<Outcome> {
    return await this.#start([], commands, environment)
  }

  async #start(
    options: readonly string[],
    commands: string,
    environment: Readonly<Record<string, string>> = {},
  ): Promise<Outcome> {
    return await this.#mahi.spawn('bash', ['--norc', ...options, '-u', '-o', 'pipefail', '-c', commands], {
      environment: {
        PATH: `${this.#programs}:${process.env.PATH}`,
        STAND_IN: this.#mahi.folder,
        ROOT: ROOT.replace(/\/$/, ''),
        ...environment,
      },
    }).ended
  }
}
