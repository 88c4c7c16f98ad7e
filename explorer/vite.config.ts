import { promisify } from 'node:util'
import { brotliCompress, gzip, constants } from 'node:zlib'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'

// precompress writes a gzip and a brotli copy beside each text file, so that the binary
// compresses nothing while it serves.
function precompress(): Plugin {
  return {
    name: 'precompress',
    apply: 'build',
    async generateBundle(_, bundle) {
      for (const [fileName, file] of Object.entries(bundle)) {
        if (!/\.(js|css|html|svg)$/.test(fileName)) continue
        const source = Buffer.from(file.type === 'chunk' ? file.code : file.source)
        const options = { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }
        this.emitFile({
          type: 'asset',
          fileName: `${fileName}.br`,
          source: await promisify(brotliCompress)(source, options),
        })
        this.emitFile({
          type: 'asset',
          fileName: `${fileName}.gz`,
          source: await promisify(gzip)(source, { level: 9 }),
        })
      }
    },
  }
}

export default defineConfig({
  plugins: [react(), precompress()],
  build: {
    outDir: 'dist/app',
    emptyOutDir: true,
    // Inlined files would be data: addresses, which the content security policy forbids.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: true,
  },
  server: { proxy: { '/api': 'http://127.0.0.1:8080', '/session': 'http://127.0.0.1:8080' } },
})
