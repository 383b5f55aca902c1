declare module '*.ami' {
  const text: string
  // biome-ignore lint/style/noDefaultExport: this is how Bun gives a text import
  export default text
}
declare module '*.esl' {
  const text: string
  // biome-ignore lint/style/noDefaultExport: this is how Bun gives a text import
  export default text
}
declare module '*.timing' {
  const text: string
  // biome-ignore lint/style/noDefaultExport: this is how Bun gives a text import
  export default text
}
