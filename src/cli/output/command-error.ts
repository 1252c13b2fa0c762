/** What the command says instead of its work, in words for people. */
export class CommandError extends Error {
  override readonly name = 'CommandError'
}
