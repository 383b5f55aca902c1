declare module '*.py' {
  const text: string
  // biome-ignore lint/style/noDefaultExport: this is how Bun gives a file import
  export default text
}
declare module '*.php' {
  const text: string
  // biome-ignore lint/style/noDefaultExport: this is how Bun gives a file import
  export default text
}
declare module '*.go' {
  const text: string
  // biome-ignore lint/style/noDefaultExport: this is how Bun gives a file import
  export default text
}
declare module '*.cs' {
  const text: string
  // biome-ignore lint/style/noDefaultExport: this is how Bun gives a file import
  export default text
}
