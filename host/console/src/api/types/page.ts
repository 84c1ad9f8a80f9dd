// Values, and pages of a list.

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

export interface PageInfo {
  total_count: number;
  count: number;
  start_cursor: string;
  end_cursor: string;
}

export interface Page<Item> {
  data: Item[];
  page_info: PageInfo;
}
