// SPDX-License-Identifier: Apache-2.0
// The two columns of code: source lines and instructions, with a bar of constant scale beside each number.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Annotated } from '../../api/types.ts';
import { count, fixed, percent } from '../../base/format.ts';
import { shortName } from '../../base/words.ts';
import { Share } from '../../widgets/parts.tsx';
import { byKind, codeLines, hasSource, rowsSeen, sameAt, sourceLines, type At, type CodeLine } from './lines.ts';
import type { Of } from './source.tsx';

interface CodeProps {
  annotated: Annotated;
  at: At | null;
  of: Of;
  choose: (at: At) => void;
}

const BAR = 30;
const ROW = 18; // px, as in the style sheet
const BOLD = 5; // per cent

function Part({ self, all, most }: { self: number; all: number; most: number }) {
  const share = (self / Math.max(all, 1)) * 100;
  return (
    <span class="part">
      {self > 0 && (
        <>
          <i style={{ width: `${Math.max((self / most) * BAR, 1)}px` }} />
          {share >= BOLD ? <b>{fixed(share, 1)}</b> : share < 0.05 ? '<0.1' : fixed(share, 1)}
        </>
      )}
    </span>
  );
}

const WORDS = /(\/\/.*$|\/\*.*?\*\/|#.*$)|("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|\b(alignas|auto|bool|break|case|catch|char|class|const|constexpr|continue|def|default|delete|do|double|else|enum|extern|float|for|from|function|if|import|in|inline|int|let|long|namespace|new|nullptr|private|public|return|short|signed|size_t|sizeof|static|struct|switch|template|this|throw|try|typedef|typename|u?int(?:8|16|32|64)_t|union|unsigned|using|var|virtual|void|volatile|while|fn|pub|mut|impl|use|match|restrict)\b/g;

/** Comments, texts and usual keywords of C-like languages are distinguished; anything else stays as it is. */
function Coloured({ text }: { text: string }) {
  const out = [];
  let at = 0;
  for (const match of text.matchAll(WORDS)) {
    if (match[1]?.startsWith('#') && /^#\s*(include|define|if|ifdef|ifndef|endif|else|elif|pragma|undef)/.test(match[1])) continue;
    if (match.index > at) out.push(text.slice(at, match.index));
    out.push(<span class={match[1] ? 'comment' : match[2] ? 'text' : 'word'}>{match[0]}</span>);
    at = match.index + match[0].length;
  }
  out.push(text.slice(at));
  return <>{out}</>;
}

/** Scrolls to the chosen line when it changes from elsewhere. */
function useReveal(at: At | string | null, annotated: Annotated) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const line = box.current?.querySelector('.on');
    if (!line || !box.current) return;
    const inside = line.getBoundingClientRect();
    const frame = box.current.getBoundingClientRect();
    if (inside.top < frame.top || inside.bottom > frame.bottom) box.current.scrollTop += inside.top - frame.top - frame.height / 3;
  }, [at, annotated]);
  return box;
}

export function SourceText({ annotated, at, of, choose }: CodeProps) {
  const lines = useMemo(() => sourceLines(annotated), [annotated]);
  const most = lines.reduce((high, line) => Math.max(high, line.self), 1);
  const all = of === 'function' ? annotated.self : annotated.samples;
  const box = useReveal(at, annotated);
  const missing = annotated.files.filter((file) => file.lines.every((line) => line.text === null));
  return (
    <section>
      <div class="column-head">
        <h2 class="cut" title={annotated.name}>
          {shortName(annotated.name)}
        </h2>
        <span class="faint mono cut" title={annotated.files[0]?.path}>
          {annotated.files[0]?.path}
        </span>
        <span class="grow" />
        <b>{percent(annotated.self / Math.max(annotated.samples, 1))}</b>
        <span class="faint">self</span>
      </div>
      <div class="code" ref={box} tabIndex={0} aria-label="Source">
        {missing.map((file) => (
          <p key={file.path} class="code-note">
            The text of <span class="mono">{file.path}</span> is not in the trace: it was not found when recording, or belongs to the system.
          </p>
        ))}
        {lines.map((line) => (
          <>
            {line.first && annotated.files.length > 1 && (
              <div class="code-file mono" title={annotated.files[line.at[0]]!.path}>
                {annotated.files[line.at[0]]!.path}
              </div>
            )}
            {line.gap && <div class="code-gap">⋮</div>}
            <div class={`code-line${sameAt(line.at, at) ? ' on' : ''}`} onClick={() => choose(line.at)}>
              <Part self={line.self} all={all} most={most} />
              <span class="number">{line.at[1]}</span>
              <span>{line.text === null ? <span class="faint">–</span> : <Coloured text={line.text} />}</span>
            </div>
          </>
        ))}
      </div>
    </section>
  );
}

function Kinds({ annotated, all }: { annotated: Annotated; all: number }) {
  const kinds = useMemo(() => byKind(annotated).slice(0, 8), [annotated]);
  if (!kinds.length) return null;
  return (
    <div class="kinds">
      <h2>By kind of instruction</h2>
      <table class="tight">
        <tbody>
          {kinds.map((kind) => (
            <tr key={kind.name}>
              <td>{kind.name}</td>
              <td>
                <Share part={kind.self / kinds[0]!.self} color="rgba(var(--heat), .75)" width={220} />
              </td>
              <td class="num">{percent(kind.self / Math.max(all, 1))}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const MADE = '[generated code]';

function NoCode({ annotated }: { annotated: Annotated }) {
  return (
    <p class="code-note">
      There is no code: {annotated.why_no_code || 'the trace does not contain it'}.{annotated.module === MADE && ' Programs can report names and lines of generated code: Node.js with --perf-prof, Python with -X perf.'}
    </p>
  );
}

/** The disassembly stands in its place, and this says which source was not found. */
function NoSource({ annotated }: { annotated: Annotated }) {
  if (annotated.module === MADE && !annotated.code.length) return null;
  if (!annotated.files.length) return <p class="code-note">No lines are known: {annotated.module.split('/').pop()} has no debug information.</p>;
  return (
    <p class="code-note">
      The source was not found when recording:{' '}
      {annotated.files.slice(0, 4).map((file) => (
        <span key={file.path} class="mono">
          {file.path}{' '}
        </span>
      ))}
    </p>
  );
}

export function Code({ annotated, at, address, of, choose }: CodeProps & { address: string }) {
  const [whole, setWhole] = useState(false);
  const lines = useMemo(() => codeLines(annotated, whole), [annotated, whole]);
  const most = annotated.code.reduce((high, one) => Math.max(high, one.s), 1);
  const all = of === 'function' ? annotated.self : annotated.samples;
  const box = useRef<HTMLDivElement>(null);
  const [part, setPart] = useState({ top: 0, height: 1000 });
  const left = lines.some((line) => 'left' in line);
  const isOn = (line: CodeLine) => sameAt(line.at, at) || (address !== '' && line.address === address);
  useEffect(() => setWhole(false), [annotated]);
  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => setPart((old) => ({ ...old, height: box.current?.clientHeight ?? old.height })));
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);
  // the chosen line may be one of thousands that are not there
  useEffect(() => {
    const chosen = lines.findIndex((line) => !('left' in line) && isOn(line));
    const element = box.current!;
    const top = chosen * ROW;
    if (chosen >= 0 && (top < element.scrollTop || top + ROW > element.scrollTop + element.clientHeight)) element.scrollTop = top - element.clientHeight / 3;
  }, [at ?? address, lines]);
  const [from, to] = rowsSeen(lines.length, ROW, part.top, part.height);
  return (
    <section>
      <div class="column-head">
        <h2 class={hasSource(annotated) ? '' : 'cut'} title={annotated.name}>
          {hasSource(annotated) ? 'Disassembly' : shortName(annotated.name)}
        </h2>
        <span class="faint cut" title={annotated.module}>
          {annotated.module.split('/').pop()}
          {annotated.size ? ` + 0x${annotated.start}` : ''}
          {annotated.code.length ? ' · bytes kept in the trace' : ''}
        </span>
        <span class="grow" />
        {left && (
          <button class="button small" onClick={() => setWhole(true)}>
            All {count(annotated.code.length)} instructions
          </button>
        )}
        {!hasSource(annotated) && (
          <>
            <b>{percent(annotated.self / Math.max(annotated.samples, 1))}</b>
            <span class="faint">self</span>
          </>
        )}
      </div>
      <div class="code asm" ref={box} tabIndex={0} aria-label="Disassembly" onScroll={(event) => setPart({ ...part, top: (event.target as HTMLElement).scrollTop })}>
        {!hasSource(annotated) && <NoSource annotated={annotated} />}
        {!annotated.code.length && <NoCode annotated={annotated} />}
        {(annotated.code_count ?? 0) > annotated.code.length && <p class="code-note">{count(annotated.code.length)} of {count(annotated.code_count!)} instructions: those near samples.</p>}
        {from > 0 && <div style={{ height: `${from * ROW}px` }} />}
        {lines.slice(from, to).map((line) =>
          'left' in line ? (
            <div class="code-gap">⋮ {count(line.left)} without samples</div>
          ) : (
            <div class={`code-line${isOn(line) ? ' on' : ''}`} onClick={() => line.at && choose(line.at)}>
              <Part self={line.self} all={all} most={most} />
              <span class="address">
                {line.target ? '›' : ' '}
                {line.address}
              </span>
              <span class="number">{line.at ? line.at[1] : ''}</span>
              <span>
                <span class="word">{line.text.split(' ')[0]}</span> {line.text.slice(line.text.indexOf(' ') + 1 || line.text.length)}
              </span>
            </div>
          ),
        )}
        {to < lines.length && <div style={{ height: `${(lines.length - to) * ROW}px` }} />}
        <Kinds annotated={annotated} all={all} />
      </div>
    </section>
  );
}
