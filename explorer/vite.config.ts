import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
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
    // Vite completes its imports while it generates, so the files are read when they are written.
    async writeBundle({ dir = '' }, bundle) {
      for (const fileName of Object.keys(bundle)) {
        if (!/\.(m?js|css|html|svg)$/.test(fileName)) continue
        const path = join(dir, fileName)
        const source = await readFile(path)
        const options = { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }
        await writeFile(`${path}.br`, await promisify(brotliCompress)(source, options))
        await writeFile(`${path}.gz`, await promisify(gzip)(source, { level: 9 }))
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
