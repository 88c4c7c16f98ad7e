import { readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, gzip, constants } from 'node:zlib'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'
import { outlines } from './outlines.ts'

// precompress writes a gzip and a brotli copy beside each text file, so that the binary
// compresses nothing while it serves. Of files in assets it keeps the copies alone: the
// binary would be 4 MB larger, and hardly a client takes neither.
function precompress(): Plugin {
  return {
    name: 'precompress',
    apply: 'build',
    // Vite completes its imports while it generates, so the files are read when they are written.
    async writeBundle({ dir = '' }, bundle) {
      const options = { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }
      const compress = async (path: string) => {
        const source = await readFile(path)
        await writeFile(`${path}.br`, await promisify(brotliCompress)(source, options))
        await writeFile(`${path}.gz`, await promisify(gzip)(source, { level: 9 }))
        if (dirname(path).endsWith('assets')) await rm(path)
      }
      const texts = Object.keys(bundle).filter((name) => /\.(m?js|css|html|svg)$/.test(name))
      await Promise.all(texts.map((name) => compress(join(dir, name))))
    },
  }
}

export default defineConfig({
  plugins: [react(), outlines(), precompress()],
  build: {
    outDir: 'dist/app',
    emptyOutDir: true,
    // Inlined files would be data: addresses, which the content security policy forbids.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: true,
    // The map and its outlines are large, and loaded when they are looked at.
    chunkSizeWarningLimit: 1500,
  },
  server: { proxy: { '/api': 'http://127.0.0.1:8080', '/session': 'http://127.0.0.1:8080' } },
})
