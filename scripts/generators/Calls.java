// Makes the calls of TestGeneratedClients with the client that openapi-generator generates.
import com.google.gson.Gson;
import com.google.gson.JsonParser;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Collectors;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.BookApi;
import org.openapitools.client.api.DataApi;
import org.openapitools.client.api.ViewsApi;
import org.openapitools.client.auth.HttpBearerAuth;
import org.openapitools.client.model.*;

public class Calls {
  public static void main(String[] args) throws Exception {
    ApiClient client = new ApiClient();
    client.setBasePath(System.getenv("ATLAS_BASE"));
    ((HttpBearerAuth) client.getAuthentication("apiKey")).setBearerToken(System.getenv("ATLAS_TOKEN"));
    Map<String, Object> said = new LinkedHashMap<>();

    DataApi data = new DataApi(client);
    ProjectSearchRequest search = new ProjectSearchRequest()
        .filters(new ProjectFilters()
            .stage(new StageFilter(new StageFilterByValue().value(new StageFilterByValueValue(List.of(Stage.PERMITTED, Stage.UNDER_CONSTRUCTION))))))
        .sort(new ProjectSort().field(ProjectSort.FieldEnum.COST).order(ProjectSort.OrderEnum.DESC))
        .limit(2); // and no range: the generator cannot send a list of numbers
    List<Project> found = data.searchProjects(null, null, null, search).getSearchProjectsResponseBody().getData();
    said.put("search_projects", found.stream().map(Project::getId).map(UUID::toString).collect(Collectors.toList()));

    try {
      data.getProject(new UUID(0, 0), null, null, null, null, null, null);
    } catch (ApiException e) {
      said.put("get_project", JsonParser.parseString(e.getResponseBody()).getAsJsonObject().getAsJsonObject("error").get("code").getAsString());
    }

    WorkspaceAccountUpsert account = new WorkspaceAccountUpsert(
        new WorkspaceAccountUpsertByMatch().match(new AccountMatch().domain("one.example")).icpTier(IcpTier.TIER_1));
    said.put("upsert_workspace_account", new BookApi(client).upsertWorkspaceAccount(account, null, null, null).getData().getIcpTier().getValue());

    ViewsApi views = new ViewsApi(client);
    ViewUpsert view = new ViewUpsert(new CreateDynamicProjectView()
        .dataset(CreateDynamicProjectView.DatasetEnum.PROJECT)
        .viewType(CreateDynamicProjectView.ViewTypeEnum.DYNAMIC)
        .name("Java")
        .definition(new ProjectViewDefinition()
            .version(ProjectViewDefinition.VersionEnum.NUMBER_1).q("")
            .fields(new ProjectViewDefinitionFields().stage(Set.of(Stage.PERMITTED)))));
    View made = views.upsertView(view, null, null, null).getData().getView();
    said.put("upsert_view", made.getDefinition().getFields().getStage().stream().map(Stage::getValue).collect(Collectors.toList()));

    ViewRecords rows = views.searchViewRecords(made.getId(), null, null, null, new ViewRecordsSearchRequest())
        .getSearchViewRecordsResponseBody().getData();
    said.put("search_view_records", rows.getViewProjectRecords().getRecords().stream().map(r -> r.getId().toString()).collect(Collectors.toList()));
    System.out.println(new Gson().toJson(said));
    client.getHttpClient().dispatcher().executorService().shutdown();
    client.getHttpClient().connectionPool().evictAll();
  }
}
