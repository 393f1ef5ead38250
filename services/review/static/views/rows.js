// View of any row: its columns with units and training ranges, a map where it says where it is, and the label.

import { html } from "../html.js";
import { Columns } from "./columns.js";
import { CLASS_ACTIONS, LABELS, LabelField } from "./label_field.js";
import { StationMap } from "./station_map.js";

function View(props) {
  return html`<${LabelField} ...${props} /><${StationMap} ...${props} /><${Columns} ...${props} />`;
}

export default { name: "rows", actions: CLASS_ACTIONS, View, ...LABELS };
