// The editor: CodeMirror with SQL, completions and problems that the server finds.
import { autocompletion, completionKeymap, startCompletion } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { SQLDialect, sql } from "@codemirror/lang-sql";
import { bracketMatching, syntaxHighlighting } from "@codemirror/language";
import { lintKeymap, setDiagnostics } from "@codemirror/lint";
import { EditorState, Prec } from "@codemirror/state";
import { EditorView, drawSelection, keymap, lineNumbers } from "@codemirror/view";
import { tagHighlighter, tags } from "@lezer/highlight";

const words = tagHighlighter([
  { tag: [tags.keyword, tags.typeName, tags.operatorKeyword, tags.modifier], class: "k" },
  { tag: [tags.number, tags.string, tags.bool, tags.null, tags.special(tags.string)], class: "v" },
  { tag: [tags.lineComment, tags.blockComment], class: "c" },
]);

// Words of the dialect, and no more: count and avg are names here.
const dialect = SQLDialect.define({
  keywords:
    "select from where group by having order limit offset asc desc nulls first last and or not between in is " +
    "like ilike case when then else end as distinct filter join inner left right full outer cross using on " +
    "with accuracy explain verbose union all intersect except over partition rows range exists within",
  types: "date timestamp time integer bigint smallint double decimal varchar text boolean interval",
  builtin: "",
});

// `complete(before)` gives [{text, length, kind}]; `changed` and `ask` are called.
export function makeEditor({ parent, text, nonce, label, complete, changed, ask }) {
  const source = async (context) => {
    const before = context.state.doc.sliceString(0, context.pos);
    if (!context.explicit && !/[\w'(.]$/.test(before)) return null;
    const found = await complete(before);
    if (context.aborted || !found.length) return null;
    return {
      from: context.pos - found[0].length,
      options: found.map((one) => ({ label: one.text, type: one.kind, detail: one.kind })),
      filter: false,
    };
  };
  const own = [
    { key: "Mod-Enter", run: () => (ask(), true) },
    { key: "Ctrl-Space", run: startCompletion },
  ];
  const view = new EditorView({
    parent,
    doc: text,
    extensions: [
      EditorView.cspNonce.of(nonce),
      Prec.highest(keymap.of(own)),
      keymap.of([...completionKeymap, ...defaultKeymap, ...historyKeymap, ...lintKeymap]),
      lineNumbers(),
      history(),
      drawSelection(),
      bracketMatching(),
      sql({ dialect }),
      syntaxHighlighting(words),
      autocompletion({ override: [source], icons: false, activateOnTypingDelay: 150 }),
      EditorView.lineWrapping,
      EditorView.contentAttributes.of({ "aria-label": label, "aria-describedby": "problem" }),
      EditorState.tabSize.of(4),
      EditorView.updateListener.of((update) => {
        if (update.docChanged) changed();
      }),
    ],
  });
  return {
    text: () => view.state.doc.toString(),
    write(next) {
      if (next === view.state.doc.toString()) return;
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: next } });
    },
    // Places count characters of Unicode, as Python does; the editor counts units of UTF-16.
    mark(problems) {
      const whole = view.state.doc.toString();
      const at = (place) => [...whole].slice(0, place).join("").length;
      const found = problems.map((one) => ({
        from: at(one.start),
        to: Math.max(at(one.end), Math.min(at(one.start) + 1, whole.length)),
        severity: "error",
        message: one.message,
      }));
      view.dispatch(setDiagnostics(view.state, found));
    },
    focus: () => view.focus(),
  };
}
