// Describes elements, and makes the document look as described. Nodes that are
// there already are kept, and with them focus, open details and selections.
// Everything said by a server becomes text or the value of an attribute, never
// HTML.

const svgNamespace = 'http://www.w3.org/2000/svg';
const descriptions = new WeakMap();  // From a node to what it was made from.

// Describes an element. Children are descriptions, texts, numbers or arrays of
// these; null, undefined and false are left out. Attributes are set as they
// are: true is an empty value; null, undefined and false are left out. Others:
//   key    tells children of one parent apart where their number changes
//   on     {event: function}
//   style  {property: value}, set on the node, which a strict CSP permits
//   draw   function(node): called after each update, once the node is in the
//          document; the children of such a node are its own business
export function el(tag, attributes = {}, ...children) {
  return {tag, attributes, children: children.flat(Infinity).filter(isShown).map(
      (child) => typeof child === 'object' ? child : plain(child))};
}

// Characters that reorder text around them could make a name look like another.
function plain(text) {
  return String(text).replace(/[\u202a-\u202e\u2066-\u2069]/g, '\ufffd');
}

function isShown(child) {
  return child !== null && child !== undefined && child !== false && child !== true;
}

// Makes the children of `node` those of `children`, a list as el() takes them.
export function patch(node, ...children) {
  const draws = [];
  patchChildren(node, el('', {}, children).children, draws);
  for (const draw of draws) draw();
}

function patchChildren(node, children, draws) {
  const keyed = new Map();
  for (const child of node.childNodes) {
    const key = descriptions.get(child)?.attributes.key;
    if (key !== undefined) keyed.set(key, child);
  }
  let place = node.firstChild;
  for (const wanted of children) {
    const key = wanted.attributes?.key;
    const candidate = key === undefined ? place : keyed.get(key);
    if (candidate && fits(candidate, wanted)) {
      if (candidate === place) {
        place = place.nextSibling;
      } else {
        node.insertBefore(candidate, place);
      }
      update(candidate, wanted, draws);
    } else {
      const made = make(wanted, node);
      node.insertBefore(made, place);
      update(made, wanted, draws);
    }
  }
  while (place) {
    const next = place.nextSibling;
    place.remove();
    place = next;
  }
}

function fits(node, wanted) {
  if (typeof wanted === 'string') return node.nodeType === Node.TEXT_NODE;
  const was = descriptions.get(node);
  return was?.tag === wanted.tag && was.attributes.key === wanted.attributes.key;
}

function make(wanted, parent) {
  if (typeof wanted === 'string') return document.createTextNode(wanted);
  const isSvg = wanted.tag === 'svg' || parent.namespaceURI === svgNamespace;
  const node = isSvg ? document.createElementNS(svgNamespace, wanted.tag) :
                       document.createElement(wanted.tag);
  descriptions.set(node, {tag: wanted.tag, attributes: {key: wanted.attributes.key}});
  return node;
}

function update(node, wanted, draws) {
  if (typeof wanted === 'string') {
    if (node.data !== wanted) node.data = wanted;
    return;
  }
  const before = descriptions.get(node).attributes;
  const after = wanted.attributes;
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    setAttribute(node, name, before[name], after[name]);
  }
  descriptions.set(node, {tag: wanted.tag, attributes: after});
  if (after.draw) {
    draws.push(() => after.draw(node));
  } else {
    patchChildren(node, wanted.children, draws);
  }
}

function setAttribute(node, name, before, after) {
  if (name === 'key' || name === 'draw' || before === after) return;
  if (name === 'on') {
    for (const event of Object.keys({...before, ...after})) {
      node[`on${event}`] = after?.[event] ?? null;
    }
  } else if (name === 'style') {
    for (const property of Object.keys({...before, ...after})) {
      node.style.setProperty(property, after?.[property] ?? '');
    }
  } else if (after === null || after === undefined || after === false) {
    node.removeAttribute(name);
  } else {
    node.setAttribute(name, after === true ? '' : after);
  }
}
