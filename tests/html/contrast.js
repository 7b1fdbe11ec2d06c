// Text whose contrast is below WCAG's AA. axe leaves out what is scrolled away; this does not.
const channel = (value) => {
  const share = value / 255;
  return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
};
const luminance = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
const numbers = (color) => {
  const [r, g, b, alpha = 1] = color.match(/[\d.]+/g).map(Number);
  return [r, g, b, alpha];
};
const ground = (element) => {
  for (let one = element; one; one = one.parentElement) {
    const [r, g, b, alpha] = numbers(getComputedStyle(one).backgroundColor);
    if (alpha === 1) return [r, g, b];
    if (alpha > 0) throw new Error("a ground that shines through is not reckoned with");
  }
  return [255, 255, 255];
};
const found = new Set();
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
for (let text = walker.nextNode(); text; text = walker.nextNode()) {
  const element = text.parentElement;
  if (!text.data.trim() || !element.getClientRects().length || element.closest("script")) continue;
  const style = getComputedStyle(element);
  const ink = numbers(element.closest("svg") ? style.fill : style.color);
  const [one, other] = [luminance(ink), luminance(ground(element))];
  const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
  const size = parseFloat(style.fontSize);
  const large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
  if (ratio < (large ? 3 : 4.5)) {
    found.add(`contrast: ${ratio.toFixed(2)} of <${element.localName} class="${element.getAttribute("class") ?? ""}">`);
  }
}
return [...found];
