//! Pages of records, newest first.

use domain::paging::{Cursor, PageInfo, PageQuery, PagingError};
use store::{Page, Tenant};

use crate::records::{Stored, table};
use crate::{Error, Platform};

/// A page as the API shows it.
#[derive(Debug)]
pub struct PageOf<Item> {
    pub items: Vec<Item>,
    pub info: PageInfo,
}

/// One page of the records of a kind.
pub async fn page<R: Stored>(tenant: &Tenant, platform: &Platform, query: &PageQuery) -> Result<PageOf<R>, Error> {
    let after = query.after.as_ref().map(position).transpose().map_err(|error| Error::parameter("after", error))?;
    let before = query.before.as_ref().map(position).transpose().map_err(|error| Error::parameter("before", error))?;
    let limit = u32::try_from(query.limit.get()).unwrap_or(store::MAX_PAGE);
    let listed = table::list_readable::<R>(&*platform.store, tenant, Page { after, before, limit }).await?;
    let cursors: Vec<String> = listed.places.iter().map(cursor).collect();
    let total = usize::try_from(listed.total).unwrap_or(usize::MAX);
    let info = PageInfo { unreadable: listed.unreadable, ..PageInfo::new(total, &cursors) };
    Ok(PageOf { items: listed.items, info })
}

/// How many records of a kind there are.
pub(crate) async fn count<R: Stored>(tenant: &Tenant, platform: &Platform) -> Result<usize, Error> {
    let listed = platform.store.records(tenant, R::KIND, Page::newest(1)).await?;
    Ok(usize::try_from(listed.total).unwrap_or(usize::MAX))
}

// === impl PageOf ===

impl<Item> PageOf<Item> {
    pub fn map<Shown>(self, show: impl FnMut(Item) -> Shown) -> PageOf<Shown> {
        PageOf { items: self.items.into_iter().map(show).collect(), info: self.info }
    }
}

/// The id, and the place in the list: with the place a cursor outlives its record.
fn cursor((id, position): &(String, u64)) -> String {
    Cursor::of(format!("{id} {position}")).encode()
}

fn position(cursor: &Cursor) -> Result<u64, PagingError> {
    let (_, position) = cursor.id().rsplit_once(' ').ok_or(PagingError::Cursor)?;
    position.parse().map_err(|_| PagingError::Cursor)
}
