/** Error classes, and the search for the line of the caller's code that caused an error. */

/** Address of the file that holds this package, without its query. */
const OWN = import.meta.url.replace(/[?#].*$/, '')

/** Any error of the package. */
export class GradusError extends Error {
  /** The caller's line, as `address:line:column`, if the stack has it. */
  readonly line: string | undefined
  constructor(message: string, readonly kind: string = 'value', line?: string) {
    super(message)
    this.name = new.target.name
    this.line = line ?? callerLine(this.stack ?? '')
    if (this.line) this.message += `\n  at ${this.line}`
  }
}
/** Shapes or axes that do not match. */
export class ShapeError extends GradusError {}
export class DTypeError extends GradusError {}
export class ValueError extends GradusError {}
/** Something without a derivative. */
export class GradientError extends GradusError {}
export class DeviceError extends GradusError {}
/** The GPU device was lost; call `init` again for a new one. */
export class LostDeviceError extends DeviceError {}
/** A loss that is NaN or infinite. */
export class NonFiniteError extends GradusError {}
/** A malformed file. */
export class FormatError extends GradusError {}
/** A program of equations with errors, which the message shows. */
export class ProgramError extends GradusError {}

const CLASSES: Record<string, typeof GradusError> = {
  shape: ShapeError, dtype: DTypeError, value: ValueError, gradient: GradientError, device: DeviceError, file: FormatError,
  program: ProgramError, lost: LostDeviceError, nonfinite: NonFiniteError,
}

/** Makes the error of a kind that the module or a worker reports. */
export function errorOf(kind: string, message: string): GradusError {
  // Removes lines that name the source of the module, which do not help a caller.
  return new (CLASSES[kind] ?? GradusError)(message.replace(/\n\s+at \S+\.rs:\d+:\d+/g, ''), kind)
}

/** The first frame of a stack outside of this package. */
export function callerLine(stack: string): string | undefined {
  for (const frame of stack.split('\n')) {
    // Chromium: `at f (address:line:column)`; Firefox and Safari: `f@address:line:column`.
    const found = /(?:\(|@|at (?:async )?)((?:https?|file|blob|data|webpack-internal|node|[a-z-]+):\/?\/?\S*?|\/\S+?):(\d+):(\d+)\)?$/.exec(frame.trim())
    if (!found || found[1]!.replace(/[?#].*$/, '') === OWN || found[1]!.startsWith('node:') || found[1]!.startsWith('wasm:')) continue
    return `${found[1]}:${found[2]}:${found[3]}`
  }
  return undefined
}
