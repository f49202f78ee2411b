import { randomBytes } from 'node:crypto'

/** A token of 192 random bits that does not begin with a hyphen: on a command line that would be an option. */
export function createToken(): string {
  for (;;) {
    const token = randomBytes(24).toString('base64url')
    if (!token.startsWith('-')) return token
  }
}
