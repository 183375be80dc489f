// Questions: the file, and the search among them.
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {fileURLToPath} from 'node:url';
import {QuestionIndex, parseQuestions, readQuestions} from '../../../examples/search/questions.mjs';

test('lines of one question stand together', () => {
  assert.deepEqual(parseQuestions('Who?\tShe.\t1\nWho?\tRain.\t0\r\n\nWhen?\tNow.\t2\n', 'x.tsv'), [
    {question: 'Who?', sentences: ['She.', 'Rain.'], labels: [1, 0]},
    {question: 'When?', sentences: ['Now.'], labels: [2]},
  ]);
});

test('a bad line is named', () => {
  const message = (text) => {
    try {
      parseQuestions(text, 'x.tsv');
    } catch (error) {
      return error.message;
    }
    return 'no error';
  };
  assert.equal(message('a\tb\t0\nc\td\n'),
      'x.tsv, line 2: there are 2 cells, must be 3: question, sentence, label');
  assert.equal(message('a\tb\t-1\n'), 'x.tsv, line 1: label is "-1", must be a whole number');
  assert.equal(message('\n\n'), 'x.tsv: there is no question');
});

test('the built-in questions are many, different, and have right and wrong answers', () => {
  const questions = readQuestions(fileURLToPath(
      new URL('../../../examples/search/questions.tsv', import.meta.url)));
  assert.equal(questions.length, 40);
  assert.equal(new Set(questions.map(({question}) => question)).size, 40);
  for (const {question, sentences, labels} of questions) {
    const right = labels.filter((label) => label > 0).length;
    assert.ok(right === 1 || right === 2, `${question}: ${right} right answers`);
    assert.ok(sentences.length >= 5 && sentences.length <= 10, question);
    assert.equal(new Set(sentences).size, sentences.length, question);
  }
});

const asQuestions = (...texts) => texts.map((question) => ({question, sentences: [], labels: []}));
const found = (index, text, most = 8) => index.find(text, most).map(({question}) => question);

test('rare words count more than frequent ones', () => {
  const index = new QuestionIndex(asQuestions('Why is the sky blue?', 'Why is the sea salty?', 'Why do cats purr?'));
  // "why" is in all three, "sea" in one.
  assert.equal(found(index, 'why SEA')[0], 'Why is the sea salty?');
  assert.deepEqual(found(index, 'why is the sky blue?', 1), ['Why is the sky blue?']);
  assert.deepEqual(found(index, 'elephants'), []);
  assert.deepEqual(found(index, '?!'), []);
});

test('the last word may have been begun only', () => {
  const index = new QuestionIndex(asQuestions('Why is the sky blue?', 'Do cats purr?'));
  assert.deepEqual(found(index, 'do ca'), ['Do cats purr?']);
  assert.deepEqual(found(index, 'ca do'), ['Do cats purr?']);
  assert.deepEqual(found(index, 'ca blue'), ['Why is the sky blue?']);
});
