// SPDX-License-Identifier: Apache-2.0
// Bundles the page into dist/ (app.js, app.css, index.html, favicon.svg), or the unit tests into dist-tests/.
import { build } from 'esbuild';
import { copyFileSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const at = (...parts) => join(here, ...parts);
const out = process.env.IFG_UI_DIST ?? at('dist');

if (process.argv.includes('--tests')) {
  const tests = process.env.IFG_UI_TESTS ?? at('dist-tests');
  rmSync(tests, { recursive: true, force: true });
  await build({
    entryPoints: readdirSync(at('tests')).filter((f) => f.endsWith('.test.ts')).map((f) => at('tests', f)),
    outdir: tests,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node18',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    logLevel: 'warning',
  });
} else {
  mkdirSync(out, { recursive: true });
  await build({
    entryPoints: { app: at('src', 'app', 'main.tsx') },
    outdir: out,
    bundle: true,
    format: 'esm',
    target: 'es2022',
    charset: 'utf8', // what is not ASCII needs no escapes: the page is served, and mailed, as UTF-8
    minify: true,
    legalComments: 'none',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    logLevel: 'warning',
  });
  for (const file of ['index.html', 'favicon.svg']) copyFileSync(at(file), join(out, file));
  await build({ entryPoints: { app: at('style.css') }, outdir: out, charset: 'utf8', minify: true, logLevel: 'warning' });
}
