declare module '*.md' {
  const text: string
  // biome-ignore lint/style/noDefaultExport: this is how Bun gives a file import
  export default text
}
