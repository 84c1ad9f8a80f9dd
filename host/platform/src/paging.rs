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
    page_of(tenant, platform, query, query.limit.get()).await
}

/// One page of as many records as the store gives at once, for what is small of each.
pub(crate) async fn longest_page<R: Stored>(
    tenant: &Tenant,
    platform: &Platform,
    query: &PageQuery,
) -> Result<PageOf<R>, Error> {
    page_of(tenant, platform, query, store::MAX_PAGE as usize).await
}

async fn page_of<R: Stored>(
    tenant: &Tenant,
    platform: &Platform,
    query: &PageQuery,
    limit: usize,
) -> Result<PageOf<R>, Error> {
    let after = query.after.as_ref().map(position).transpose().map_err(|error| Error::parameter("after", error))?;
    let before = query.before.as_ref().map(position).transpose().map_err(|error| Error::parameter("before", error))?;
    let limit = u32::try_from(limit).unwrap_or(store::MAX_PAGE);
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

/// Leaves out of a list what a newer version wrote, and names it: while hosts are upgraded one by one, the rest is shown.
#[derive(Debug, Default)]
pub(crate) struct Unreadable(Vec<String>);

impl Unreadable {
    /// The item, or nothing when it cannot be read: the others can.
    pub(crate) fn pass<Item>(&mut self, id: &impl ToString, read: Result<Item, Error>) -> Result<Option<Item>, Error> {
        match read {
            Ok(item) => Ok(Some(item)),
            Err(Error::Record(error)) if error.is_unreadable() => {
                self.0.push(id.to_string());
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    pub(crate) fn add(&mut self, ids: Vec<String>) {
        self.0.extend(ids);
    }

    /// With the ids that were left out.
    pub(crate) fn named_in(self, info: PageInfo) -> PageInfo {
        PageInfo { unreadable: self.0, ..info }
    }
}

/// A list that is not divided into pages.
#[derive(Debug)]
pub struct Listed<Item> {
    pub items: Vec<Item>,
    /// The ids of what cannot be read: a newer version wrote it, or it is damaged.
    pub unreadable: Vec<String>,
}

/// All records of a kind, newest first. For kinds whose number per tenant is bounded.
pub(crate) async fn all<R: Stored>(tenant: &Tenant, platform: &Platform) -> Result<Listed<R>, Error> {
    let (mut items, mut unreadable, mut after) = (Vec::new(), Vec::new(), None);
    loop {
        let page = Page { after, before: None, limit: store::MAX_PAGE };
        let listed = table::list_readable::<R>(&*platform.store, tenant, page).await?;
        let Some((_, last)) = listed.places.last() else { return Ok(Listed { items, unreadable }) };
        after = Some(*last);
        items.extend(listed.items);
        unreadable.extend(listed.unreadable);
    }
}

// === impl Listed ===

impl<Item> Listed<Item> {
    pub fn map<Shown>(self, show: impl FnMut(Item) -> Shown) -> Listed<Shown> {
        Listed { items: self.items.into_iter().map(show).collect(), unreadable: self.unreadable }
    }
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
