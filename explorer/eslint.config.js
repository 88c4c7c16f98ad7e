import { createNodeResolver, importX } from 'eslint-plugin-import-x'
import hooks from 'eslint-plugin-react-hooks'
import tseslint from 'typescript-eslint'

export default tseslint.config(
  { ignores: ['dist', 'node_modules', 'src/api/schema.ts', 'src/api/rows.ts', 'test-results'] },
  ...tseslint.configs.strict,
  hooks.configs.flat.recommended,
  // No circles: a file can be read, and moved, without what imports it.
  {
    plugins: { 'import-x': importX },
    settings: {
      ...importX.flatConfigs.typescript.settings,
      'import-x/resolver-next': [createNodeResolver({ extensions: ['.ts', '.tsx', '.js'] })],
    },
    rules: { 'import-x/no-cycle': 'error' },
  },
  // A longer function has several ideas: give a hook, or a part of the screen, a name of its own.
  {
    ignores: ['e2e/**', '**/*.test.ts'],
    rules: { 'max-lines-per-function': ['error', { max: 100, skipBlankLines: true, skipComments: true }] },
  },
  { rules: { '@typescript-eslint/no-unused-vars': ['error', { varsIgnorePattern: '^_$' }] } },
)
