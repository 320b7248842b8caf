/** Modules that the build generates from files. */
declare module 'source:*' {
  const text: string
  export default text
}
declare module 'example:*' {
  const text: string
  export default text
}
