declare module '*.sql' {
  const text: string
  // biome-ignore lint/style/noDefaultExport: this is how Bun gives a text import
  export default text
}
