// Questions with the sentences that may answer them, and the search among them.
import {readFileSync} from 'node:fs';

// Returns [{question, sentences, labels}] of a file of lines
// question<TAB>sentence<TAB>label; a label above 0 is a right answer. Lines of
// one question stand together. Throws an Error that names file and line.
export function readQuestions(path) {
  return parseQuestions(readFileSync(path, 'utf8'), path);
}

export function parseQuestions(text, path) {
  const questions = [];
  text.split('\n').forEach((raw, i) => {
    const line = raw.replace(/\r$/, '');
    if (line === '') return;
    const where = `${path}, line ${i + 1}`;
    const cells = line.split('\t');
    if (cells.length !== 3) {
      throw new Error(`${where}: there are ${cells.length} cells, must be 3: question, sentence, label`);
    }
    const [question, sentence, label] = cells;
    if (!/^\d+$/.test(label)) throw new Error(`${where}: label is "${label}", must be a whole number`);
    if (questions.at(-1)?.question !== question) questions.push({question, sentences: [], labels: []});
    questions.at(-1).sentences.push(sentence);
    questions.at(-1).labels.push(Number(label));
  });
  if (questions.length === 0) throw new Error(`${path}: there is no question`);
  return questions;
}

// Finds questions by their words.
export class QuestionIndex {
  constructor(questions) {
    this.questions = questions;
    this.frequencies = new Map();  // Questions with the word.
    this.words = questions.map(({question}) => {
      const words = wordsOf(question);
      for (const word of words) this.frequencies.set(word, (this.frequencies.get(word) ?? 0) + 1);
      return words;
    });
  }

  // Returns the questions that share most with `text`, at most `most`, best
  // first; none that shares nothing. A word counts the more the rarer it is. The
  // last one may be the beginning of a word, because somebody is typing it.
  find(text, most) {
    const wanted = [...wordsOf(text)];
    const typed = wanted.at(-1);
    const found = this.words.map((words, i) => {
      let score = 0;
      for (const word of wanted) if (words.has(word)) score += this.weight(word);
      if (typed && !words.has(typed)) {
        const begun = [...words].find((word) => word.startsWith(typed));
        if (begun) score += this.weight(begun) * typed.length / begun.length;
      }
      return {i, score: score / Math.sqrt(words.size || 1)};
    });
    return found.filter(({score}) => score > 0).sort((a, b) => b.score - a.score || a.i - b.i)
        .slice(0, most).map(({i}) => this.questions[i]);
  }

  weight(word) {
    return Math.log(1 + this.questions.length / this.frequencies.get(word));
  }
}

// Returns the set of the words, in their order.
export function wordsOf(text) {
  return new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []);
}
