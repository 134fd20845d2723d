import { SaxesParser, type SaxesTagPlain } from "saxes";

/** A handler of the elements of an XML file: the element's name without prefix, its attributes, and the names of the elements above it. */
export interface Elements {
  readonly open: (name: string, attributes: Readonly<Record<string, string>>) => void;
  /** Called at an element's end with its text. */
  readonly close?: (name: string, text: string) => void;
}

/** Reads an XML file element by element. Throws an error for text that is not XML. Entities of a DTD are not expanded. */
export function readXml(text: string, { open, close }: Elements): void {
  const parser = new SaxesParser();
  const plain = (name: string): string => name.slice(name.indexOf(":") + 1);
  let said = "";
  parser.on("opentag", ({ name, attributes }: SaxesTagPlain) => {
    said = "";
    open(plain(name), attributes);
  });
  parser.on("text", (part) => void (said += part));
  parser.on("cdata", (part) => void (said += part));
  parser.on("closetag", ({ name }) => {
    close?.(plain(name), said.trim());
    said = "";
  });
  parser.on("error", (error) => {
    throw error;
  });
  parser.write(text).close();
}
