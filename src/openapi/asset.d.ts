declare module 'swagger-ui-dist/*' {
  const path: string
  // biome-ignore lint/style/noDefaultExport: this is how Bun gives a file import
  export default path
}
